#include "emulator/traces/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/sort_unique.h"
#include "emulator/traces/groups_file.h"
#include "emulator/traces/new_set.h"
#include "emulator/traces/trace_copy.h"

namespace rankwire {
namespace {

constexpr size_t kMostDependencies = 50'000'000;
constexpr std::array kKinds = {NodeKind::kCompute,    NodeKind::kHost, NodeKind::kMemory,
                               NodeKind::kCollective, NodeKind::kSend, NodeKind::kReceive};

void check_kinds(const std::vector<std::string>& kinds) {
  std::set<std::string> known;
  for (const NodeKind kind : kKinds) known.insert(to_string(kind));
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::kBarrier); ++kind) {
    known.insert(to_string(static_cast<CollectiveKind>(kind)));
  }
  for (const std::string& kind : kinds) {
    if (!known.contains(kind)) fail_input("--only-kinds {}: none of {}", kind, fmt::join(known, ", "));
  }
}

template <class Range, class Value>
bool is_within(const std::vector<Range>& ranges, Value value) {
  return ranges.empty() ||
         std::ranges::any_of(ranges, [&](const Range& range) { return range.first <= value && value <= range.second; });
}

class Part {
 public:
  Part(const RankSet& set, const Timing& timing, const PartOptions& options)
      : set_(set), timing_(timing), options_(options) {
    check_kinds(options.kinds);
    for (const auto& [first, last] : options.ranks) {
      if (first > last || last >= set.place_of.size() || set.place_of[last] == RankSet::kNone) {
        fail_input("--only-ranks {}-{}: the set has {} ranks", first, last, set.ranks.size());
      }
    }
    for (const RankFacts& facts : set.ranks) {
      const bool stays = is_within(options.ranks, facts.rank);
      new_rank_.push_back(stays ? result_.ranks++ : RankSet::kNone);
      keep_.emplace_back(facts.nodes.size(), false);
    }
    for (uint32_t place = 0; place < set.ranks.size(); ++place) choose(place);
  }

  void match(const Matches& matches) {
    for (const auto& numbered : matches.collectives) {
      for (const std::vector<NodeRef>& members : numbered) agree(members);
    }
    std::vector<std::vector<bool>> has_peer;
    for (const RankFacts& facts : set_.ranks) has_peer.emplace_back(facts.nodes.size(), false);
    for (const auto& [send, receive] : matches.messages) {
      agree({send, receive}, true);
      has_peer[send.place][send.node] = has_peer[receive.place][receive.node] = true;
    }
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      for (uint32_t i = 0; i < keep_[place].size(); ++i) {
        const NodeKind kind = set_.ranks[place].nodes[i].kind;
        const bool message = kind == NodeKind::kSend || kind == NodeKind::kReceive;
        if (message && !has_peer[place][i] && !stays_alone(set_.ranks[place].nodes[i])) leave_out({place, i});
      }
    }
  }

  PartOfSet write() {
    add_groups();
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      if (new_rank_[place] != RankSet::kNone) count(place);
    }
    if (result_.nodes == 0) fail_input("{}: nothing is selected", set_.files.name);
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      if (new_rank_[place] != RankSet::kNone) write_rank(place);
    }
    if (!result_.groups.empty()) write_groups_file(files_.add(options_.prefix + ".json"), result_.groups);
    files_.keep();
    return std::move(result_);
  }

 private:
  void choose(uint32_t place) {
    if (new_rank_[place] == RankSet::kNone) return;
    const RankFacts& facts = set_.ranks[place];
    for (uint32_t i = 0; i < facts.nodes.size(); ++i) keep_[place][i] = is_chosen(facts.nodes[i], {place, i});
  }

  bool is_chosen(const NodeFacts& node, NodeRef at) const {
    if (node.type == chakra::METADATA_NODE) return true;
    if (!is_within(options_.ids, node.id) || !has_kind(node) || !has_name(node)) return false;
    if (options_.chosen && !options_.chosen(at)) return false;
    if (!options_.window) return true;
    const Span span = timing_.span(at);
    return span.start < options_.window->end && span.end > options_.window->start;
  }

  bool has_kind(const NodeFacts& node) const {
    if (options_.kinds.empty()) return true;
    const auto kind = static_cast<CollectiveKind>(node.collective.value_or(0));
    return std::ranges::any_of(options_.kinds, [&](const std::string& wanted) {
      return wanted == to_string(node.kind) || (node.kind == NodeKind::kCollective && wanted == to_string(kind));
    });
  }

  bool has_name(const NodeFacts& node) const {
    return options_.names.empty() || std::ranges::any_of(options_.names, [&](const std::string& pattern) {
             return fnmatch(pattern.c_str(), node.name.c_str(), 0) == 0;
           });
  }

  /// Keeps the operation at all of these whose rank stays, or at none; `all_ranks`: of a rank that goes, at none.
  void agree(const std::vector<NodeRef>& members, bool all_ranks = false) {
    const bool complete = std::ranges::all_of(members, [&](NodeRef at) {
      return keep_[at.place][at.node] || (!all_ranks && new_rank_[at.place] == RankSet::kNone);
    });
    if (complete) return;
    for (const NodeRef at : members) leave_out(at);
  }

  /// Whether a message without counterpart stays.
  bool stays_alone(const NodeFacts& message) const {
    if (!options_.keep_unmatched) return false;
    const std::optional<int64_t>& peer = message.kind == NodeKind::kSend ? message.destination : message.source;
    if (!peer || *peer < 0 || *peer >= static_cast<int64_t>(set_.place_of.size())) return true;
    const uint32_t place = set_.place_of[static_cast<size_t>(*peer)];
    return place == RankSet::kNone || new_rank_[place] != RankSet::kNone;
  }

  void leave_out(NodeRef at) {
    if (!keep_[at.place][at.node]) return;
    keep_[at.place][at.node] = false;
    ++result_.unmatched;
  }

  void add_groups() {
    std::set<uint32_t> named;
    for (uint32_t place = 0; place < set_.ranks.size(); ++place) {
      const RankFacts& facts = set_.ranks[place];
      for (uint32_t i = 0; i < facts.nodes.size(); ++i) {
        const uint32_t g = set_.group_of[place][i];
        if (g == RankSet::kNone || !keep_[place][i]) continue;
        if (set_.groups[g].name == facts.group_names[facts.nodes[i].group]) named.insert(g);
      }
    }
    for (const uint32_t g : named) {
      Group group{.name = set_.groups[g].name};
      for (const RankId member : set_.groups[g].members) {
        const uint32_t place = set_.place_of[member.value];
        if (place != RankSet::kNone && new_rank_[place] != RankSet::kNone) {
          group.members.push_back(RankId(new_rank_[place]));
        }
      }
      result_.groups.push_back(std::move(group));
    }
  }

  void count(uint32_t place) {
    const auto kept = static_cast<uint64_t>(std::ranges::count(keep_[place], true));
    result_.nodes += kept;
    result_.left_out += keep_[place].size() - kept;
  }

  /// By node: the ids of the nearest nodes that stay and that it depends on, directly or through what is left out.
  std::vector<std::vector<uint64_t>> closed_dependencies(uint32_t place) const {
    const RankFacts& facts = set_.ranks[place];
    const Graph graph = dependency_graph(facts);
    const std::vector<uint32_t> order = order_by_id(facts, graph);
    if (order.size() < facts.nodes.size()) fail_input("{}: its dependencies are a cycle", facts.path);
    std::vector<std::vector<uint64_t>> nearest(facts.nodes.size());

    size_t held = 0;
    for (const uint32_t i : order) {
      std::vector<uint64_t>& own = nearest[i];
      sort_unique(own);
      const std::vector<uint64_t> self = {facts.nodes[i].id};
      const std::vector<uint64_t>& passed = keep_[place][i] ? self : own;
      for (const uint32_t next : graph.next_of(i)) {
        nearest[next].insert(nearest[next].end(), passed.begin(), passed.end());
        held += passed.size();
      }
      if (held > kMostDependencies)
        fail_input("{}: more than {} dependencies would be left", facts.path, kMostDependencies);
      if (!keep_[place][i]) std::vector<uint64_t>().swap(own);
    }
    return nearest;
  }

  void write_rank(uint32_t place) {
    const std::vector<std::vector<uint64_t>> dependencies = closed_dependencies(place);
    const RankFacts& facts = set_.ranks[place];
    TraceCopy copy;
    copy.from = facts.path;
    copy.to = files_.add(fmt::format("{}.{}.et", options_.prefix, new_rank_[place]));
    copy.edit = [&](uint32_t index, chakra::Node& node) {
      if (!keep_[place][index]) return false;
      auto& list = facts.carrier == Carrier::kData ? *node.mutable_data_deps() : *node.mutable_ctrl_deps();
      list.Clear();
      list.Add(dependencies[index].begin(), dependencies[index].end());
      if (facts.carrier == Carrier::kData) drop_missing(place, *node.mutable_ctrl_deps());
      renumber({place, index}, node);
      if (options_.edit) options_.edit(facts.nodes[index], node);
      return true;
    };
    copy_trace(copy);
  }

  /// Control dependencies that carry nothing are not closed: those on what is left out go.
  template <class Ids>
  void drop_missing(uint32_t place, Ids& ids) const {
    std::vector<uint64_t> present;
    for (const uint64_t id : ids) {
      const auto node = set_.ranks[place].find(id);
      if (node && keep_[place][*node]) present.push_back(id);
    }
    ids.Clear();
    ids.Add(present.begin(), present.end());
  }

  void renumber(NodeRef at, chakra::Node& node) const {
    const NodeFacts& facts = set_.node(at);
    for (const auto& [name, rank] : {std::pair{"comm_src", facts.source}, std::pair{"comm_dst", facts.destination},
                                     std::pair{"root", facts.root}}) {
      if (!rank || *rank < 0 || *rank >= static_cast<int64_t>(set_.place_of.size())) continue;
      const uint32_t place = set_.place_of[static_cast<size_t>(*rank)];
      if (place != RankSet::kNone && new_rank_[place] != RankSet::kNone) set_integer(node, name, new_rank_[place]);
    }
    if (defines_groups(node))
      node.mutable_inputs()->set_values(groups_metadata(result_.groups, RankId(new_rank_[at.place])));
  }

  const RankSet& set_;
  const Timing& timing_;
  const PartOptions& options_;
  std::vector<uint32_t> new_rank_;       ///< by place, or kNone
  std::vector<std::vector<bool>> keep_;  ///< by place and node
  NewSet files_;
  PartOfSet result_;
};

}  // namespace

PartOfSet select_part(const RankSet& set, const Matches& matches, const Timing& timing, const PartOptions& options) {
  if (options.window && !timing.problem.empty()) fail_input("{}: {}", set.files.name, timing.problem);
  Part part(set, timing, options);
  part.match(matches);
  return part.write();
}

}  // namespace rankwire
