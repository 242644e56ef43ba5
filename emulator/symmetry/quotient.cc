#include "emulator/symmetry/quotient.h"

#include <map>
#include <tuple>
#include <utility>

namespace rankwire {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// The number of what is copied, given out in the order in which it is met.
uint32_t renumber(std::vector<uint32_t>& numbers, uint32_t old, uint32_t next) {
  if (numbers[old] == kNone) numbers[old] = next;
  return numbers[old];
}

class Reduction {
 public:
  Reduction(const Workload& workload, const Plan& plan, const Network& network, Quotient& result)
      : workload_(workload), plan_(plan), network_(network), result_(result) {}

  void run() {
    const SymmetryClasses& classes = result_.classes;
    result_.workload.groups = workload_.groups;
    result_.workload.element = workload_.element;
    add_jobs();
    std::vector<uint32_t> schedules(plan_.schedules.size(), kNone), slots(plan_.slot_steps.size(), kNone);
    uint32_t slots_used = 0;
    for (const uint32_t rank : classes.ranks.first) {
      add_rank(workload_.ranks[rank]);
      std::vector<NodePlan>& nodes = result_.plan.nodes.emplace_back(plan_.nodes[rank]);
      for (NodePlan& node : nodes) {
        if (node.schedule == NodePlan::kNone) continue;
        add_node(node, schedules);
        node.slot = renumber(slots, node.slot, slots_used);
        slots_used += node.slot == slots_used;
      }
    }
    add_connections();
    add_network();
    index_plan(result_.plan);
  }

 private:
  /// Ranks follow each other by job, and classes by their first ranks.
  void add_jobs() {
    result_.workload.jobs = workload_.jobs;
    for (Job& job : result_.workload.jobs) job.first_rank = job.ranks = 0;
    if (workload_.jobs.empty()) return;
    const std::vector<uint32_t>& first = result_.classes.ranks.first;
    for (uint32_t c = 0; c < first.size(); ++c) {
      Job& job = result_.workload.jobs[workload_.ranks[first[c]].job.value];
      if (job.ranks++ == 0) job.first_rank = c;
    }
  }

  void add_rank(const RankTrace& trace) {
    RankTrace& copy = result_.workload.ranks.emplace_back();
    copy.file = trace.file;
    copy.job = trace.job;
    copy.aggregates = trace.aggregates;
    copy.in_order = trace.in_order;
    copy.nodes = trace.nodes;
    copy.dependencies = trace.dependencies;
    copy.successor_begin = trace.successor_begin;
    copy.successors = trace.successors;
  }

  void add_node(NodePlan& node, std::vector<uint32_t>& schedules) {
    Plan& plan = result_.plan;
    const PlannedSchedule& planned = plan_.schedules[node.schedule];
    const auto next = static_cast<uint32_t>(plan.schedules.size());
    if (renumber(schedules, node.schedule, next) == next) plan.schedules.push_back(planned);
    node.schedule = schedules[node.schedule];
    const auto first_edge = static_cast<uint32_t>(plan.edges.size());
    for (size_t e = 0; e < planned.edges.size(); ++e) {
      EdgePlan edge = plan_.edges[node.first_edge + e];
      edge.connection = ConnectionId(result_.classes.connections.class_of[edge.connection.value]);
      plan.edges.push_back(edge);
    }
    node.first_edge = first_edge;
  }

  void add_connections() {
    const SymmetryClasses& classes = result_.classes;
    TransportPlan& transport = result_.plan.transport;
    transport.ranks = classes.ranks.classes();
    for (const uint32_t first : classes.connections.first) {
      Connection connection = plan_.transport.connections[first];
      connection.id = ConnectionId(static_cast<uint32_t>(transport.connections.size()));
      connection.source = RankId(classes.ranks.class_of[connection.source.value]);
      connection.destination = RankId(classes.ranks.class_of[connection.destination.value]);
      connection.reverse_of = ConnectionId();
      transport.connections.push_back(connection);
    }
  }

  void add_network() {
    const SymmetryClasses& classes = result_.classes;
    result_.network.fetching = network_.fetching;
    for (const uint32_t first : classes.links.first) result_.network.links.push_back(network_.links[first]);
    // How often each class of connections uses the first link of each class at a hop with a share.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> times;
    const auto key = [](uint32_t link, uint32_t connection, const LinkUse& use) {
      return std::make_tuple(link, connection, use.hop, use.share);
    };
    for (uint32_t c = 0; c < network_.routes.size(); ++c) {
      for (const LinkUse& use : network_.routes[c].links) {
        const uint32_t link = classes.links.class_of[use.link.value];
        if (classes.links.first[link] == use.link.value) ++times[key(link, classes.connections.class_of[c], use)];
      }
    }
    for (uint32_t c = 0; c < classes.connections.classes(); ++c) {
      Route& route = result_.network.routes.emplace_back(network_.routes[classes.connections.first[c]]);
      for (LinkUse& use : route.links) {
        use.link = LinkId(classes.links.class_of[use.link.value]);
        use.times = times.at(key(use.link.value, c, use));
      }
    }
  }

  const Workload& workload_;
  const Plan& plan_;
  const Network& network_;
  Quotient& result_;
};

}  // namespace

std::optional<Quotient> quotient(const Workload& workload, const Plan& plan, const Network& network) {
  std::optional<SymmetryClasses> classes = symmetry_classes(workload, plan, network);
  if (!classes) return std::nullopt;
  std::optional<Quotient> result(std::in_place);
  result->classes = std::move(*classes);
  Reduction(workload, plan, network, *result).run();
  return result;
}

}  // namespace rankwire
