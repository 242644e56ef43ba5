#include "emulator/collective/clear_to_send.h"

#include <algorithm>
#include <utility>

#include "emulator/collective/edges.h"
#include "emulator/collective/schedule_builder.h"

namespace rankwire {
namespace {

/// A clear-to-send of this member, by the receive that it grants, and the steps that free the place.
struct Grant {
  uint32_t receive = 0;
  uint32_t after = 0;  ///< the last of `freed_by`
  std::vector<uint32_t> freed_by;
};

class Transform {
 public:
  Transform(const Schedule& schedule, uint32_t messages_in_flight, const std::vector<bool>& local)
      : schedule_(schedule), in_flight_(messages_in_flight), local_(local), edges_(edges_of(schedule)) {}

  Schedule run() {
    const std::vector<Grant> grants = later_grants();
    grant_first_messages();
    placed_.resize(schedule_.steps.size());
    auto grant = grants.begin();
    for (uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[i];
      const bool granted = step.kind == StepKind::kSend && !is_local(step.peer);
      if (granted) add_control(StepKind::kReceive, step);
      placed_[i] = static_cast<uint32_t>(steps_.size());
      if (granted) links_.emplace_back(placed_[i] - 1, placed_[i]);
      steps_.push_back(step);
      for (; grant != grants.end() && grant->after == i; ++grant) {
        for (const uint32_t step_before : grant->freed_by)
          links_.emplace_back(placed_[step_before], static_cast<uint32_t>(steps_.size()));
        add_control(StepKind::kSend, schedule_.steps[grant->receive]);
      }
    }
    for (uint32_t i = 0; i < schedule_.steps.size(); ++i)
      for (const uint32_t next : schedule_.successors_of(i)) links_.emplace_back(placed_[i], placed_[next]);
    return make_schedule(std::move(steps_), links_);
  }

 private:
  bool is_local(uint32_t peer) const { return !local_.empty() && local_[peer]; }

  void add_control(StepKind kind, const Step& granted) {
    steps_.push_back({.kind = kind,
                      .channel = granted.channel,
                      .step = granted.step,
                      .slice = granted.slice,
                      .control = true,
                      .peer = granted.peer,
                      .message = kClearToSendBytes});
  }

  void grant_first_messages() {
    for (const Edges::Edge& edge : edges_.edges) {
      if (edge.kind != StepKind::kReceive || is_local(edge.peer)) continue;
      for (uint32_t k = 0; k < std::min(edge.count, in_flight_); ++k)
        add_control(StepKind::kSend, schedule_.steps[edges_.step_of(edge, k)]);
    }
  }

  /// In the order in which they are to stand in the schedule: behind all that they wait for, and in the order of the
  /// messages that they grant.
  std::vector<Grant> later_grants() const {
    std::vector<Grant> grants;
    for (const Edges::Edge& edge : edges_.edges) {
      if (edge.kind != StepKind::kReceive || is_local(edge.peer)) continue;
      uint32_t after = 0;
      for (uint32_t k = in_flight_; k < edge.count; ++k) {
        Grant& grant = grants.emplace_back();
        grant.receive = edges_.step_of(edge, k);
        grant.freed_by = steps_that_free(edges_.step_of(edge, k - in_flight_));
        after = std::max(after, *std::max_element(grant.freed_by.begin(), grant.freed_by.end()));
        grant.after = after;
      }
    }
    std::stable_sort(grants.begin(), grants.end(), [](const Grant& a, const Grant& b) { return a.after < b.after; });
    return grants;
  }

  /// What must be complete before the place of a received message can be used again.
  std::vector<uint32_t> steps_that_free(uint32_t receive) const {
    uint32_t copied = receive;
    for (const uint32_t next : schedule_.successors_of(receive))
      if (reduces(schedule_.steps[next], schedule_.steps[receive])) copied = next;
    std::vector<uint32_t> steps{copied};
    for (const uint32_t next : schedule_.successors_of(copied)) {
      const Step& passed_on = schedule_.steps[next];
      const bool same_data = passed_on.kind == StepKind::kSend && passed_on.offset == schedule_.steps[receive].offset;
      const uint32_t n = edges_.ordinal_of[next];
      if (same_data && n >= in_flight_)
        steps.push_back(edges_.step_of(edges_.edges[edges_.edge_of[next]], n - in_flight_));
    }
    return steps;
  }

  const Schedule& schedule_;
  const uint32_t in_flight_;
  const std::vector<bool>& local_;
  const Edges edges_;
  std::vector<Step> steps_;
  std::vector<uint32_t> placed_;  ///< by step of the given schedule: its place in the new one
  std::vector<StepEdge> links_;
};

}  // namespace

Schedule with_clear_to_send(const Schedule& schedule, uint32_t messages_in_flight, const std::vector<bool>& local) {
  Schedule granted = Transform(schedule, messages_in_flight, local).run();
  granted.scattered = schedule.scattered;
  return granted;
}

}  // namespace rankwire
