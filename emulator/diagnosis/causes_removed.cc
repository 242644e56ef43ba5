#include "emulator/diagnosis/causes_removed.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/replay.h"
#include "emulator/diagnosis/slower_step.h"

namespace rankwire {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// By execution of the one run which of the other it is; kNone where that has none.
std::vector<uint32_t> counterparts(const Executions& of, const Executions& in) {
  // Iterations have 14 bits, ranks 17.
  const auto key = [](const Executions::Execution& e) {
    return uint64_t{e.iteration} << 49 | uint64_t{e.rank.value} << 32 | e.node;
  };
  std::unordered_map<uint64_t, uint32_t> places;
  places.reserve(in.count());
  for (uint32_t i = 0; i < in.count(); ++i) places.emplace(key(in.at(i)), i);
  std::vector<uint32_t> found(of.count(), kNone);
  for (uint32_t i = 0; i < of.count(); ++i)
    if (const auto place = places.find(key(of.at(i))); place != places.end()) found[i] = place->second;
  return found;
}

Duration times(Duration time, double by) {
  return Duration(std::llround(static_cast<double>(time.ps) * by));
}

/// What executions took longer than in the reference, by cause.
class ExtraTimes {
 public:
  ExtraTimes(const RunReader& record, const RecordedRun& run, const Executions& emulated, const Executions& reference)
      : emulated_(emulated), extra_(emulated.count()) {
    const std::vector<uint32_t> others = counterparts(emulated, reference);
    for (uint32_t i = 0; i < emulated.count(); ++i)
      if (others[i] != kNone) extra_[i] = own_time(emulated, i) - own_time(reference, others[i]);
    find_communication(record);
    split(record, run);
  }

  const std::vector<Duration>& all() const { return extra_; }

  /// What takes longer than in the reference for a cause, and is not the generator's, by execution; what is goes to
  /// `of_generator`.
  std::vector<Duration> slower(GapCause cause, double late, std::vector<Duration>& of_generator) const {
    std::vector<Duration> less(extra_.size());
    for (uint32_t i = 0; i < extra_.size(); ++i) {
      if (extra_[i] <= Duration()) continue;
      const Duration time = of(cause, i), lateness = times(time, late);
      less[i] = time - lateness, of_generator[i] += lateness;
    }
    return less;
  }

  /// What was faster was so because others were held up, and is not without that.
  std::vector<Duration> and_nothing_faster(std::vector<Duration> less) const {
    for (uint32_t i = 0; i < extra_.size(); ++i) less[i] = extra_[i] < Duration() ? extra_[i] : less[i];
    return less;
  }

 private:
  /// Of each execution that communicates the one whose parts it has: of those that it meets the one with most extra
  /// time.
  void find_communication(const RunReader& record) {
    std::map<std::pair<RankId, uint32_t>, NodeInfo> nodes;
    record.for_each_node([&](const NodeInfo& node) {
      if (node.group_size > 0) nodes.emplace(std::pair(node.rank, node.node), node);
    });
    const std::vector<uint32_t> numbers = emulated_.numbered_meetings();
    std::vector<uint32_t> slowest;  // by meeting
    step_of_.assign(extra_.size(), kNone);
    communicates_.assign(extra_.size(), false);
    for (uint32_t i = 0; i < extra_.size(); ++i) {
      const Executions::Execution& own = emulated_.at(i);
      communicates_[i] = nodes.contains({own.rank, own.node});
      if (numbers[i] == NodeMeeting::kNone || extra_[i] <= Duration()) continue;
      slowest.resize(std::max<size_t>(slowest.size(), numbers[i] + size_t{1}), kNone);
      uint32_t& of_meeting = slowest[numbers[i]];
      if (of_meeting == kNone || extra_[i] > extra_[of_meeting]) of_meeting = i;
    }
    std::vector<uint32_t> step_of_meeting(slowest.size(), kNone);
    for (uint32_t number = 0; number < slowest.size(); ++number) {
      if (slowest[number] == kNone) continue;
      const Executions::Execution& own = emulated_.at(slowest[number]);
      const auto node = nodes.find({own.rank, own.node});
      if (node == nodes.end()) continue;
      const std::optional<uint32_t> sender = sender_of(emulated_, slowest[number]);
      const Time begin = sender ? emulated_.at(*sender).start : emulated_.release(slowest[number]).at;
      step_of_meeting[number] = static_cast<uint32_t>(steps_.size());
      steps_.push_back({.node = node->second,
                        .iteration = own.iteration,
                        .execution = slowest[number],
                        .before = {},
                        .from = begin,
                        .to = begin + own_time(emulated_, slowest[number])});
    }
    for (uint32_t i = 0; i < extra_.size(); ++i)
      if (numbers[i] < step_of_meeting.size() && extra_[i] > Duration()) step_of_[i] = step_of_meeting[numbers[i]];
  }

  void split(const RunReader& record, const RecordedRun& run) {
    std::vector<SlowerStep> slower;
    for (const CriticalStep& step : steps_) slower.push_back({&step, extra_[step.execution]});
    parts_ = parts_of_slower(record, run, emulated_, slower);
  }

  Duration of(GapCause cause, uint32_t index) const {
    if (!communicates_[index]) return cause == GapCause::kCompute ? extra_[index] : Duration();
    if (step_of_[index] == kNone) {
      const bool is_rest = cause == GapCause::kUnexplained && extra_[index] > Duration();
      return is_rest ? extra_[index] : Duration();
    }
    const uint32_t step = step_of_[index];
    const Duration most = extra_[steps_[step].execution];
    return times(parts_[step][static_cast<size_t>(cause)],
                 static_cast<double>(extra_[index].ps) / static_cast<double>(most.ps));
  }

  const Executions& emulated_;
  std::vector<Duration> extra_;
  std::vector<bool> communicates_;
  std::vector<uint32_t> step_of_;
  std::vector<CriticalStep> steps_;
  std::vector<GapParts> parts_;  ///< of the steps
};

bool is_anything(const std::vector<Duration>& times) {
  return std::ranges::any_of(times, [](Duration time) { return time != Duration(); });
}

}  // namespace

std::optional<CausesRemoved> remove_causes(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                                           const Executions& reference, const std::array<double, kGapCauses>& late) {
  if (emulated.count() > kMostReplayedExecutions) return std::nullopt;
  const ExtraTimes extra(record, run, emulated, reference);
  const Replay replay(emulated);
  CausesRemoved result{.all = replay.completion(extra.all()), .without = {}};
  const Duration recorded = emulated.at(emulated.last()).end - Time();
  std::vector<Duration> of_generator(emulated.count());
  const auto replay_without = [&](GapCause cause, std::vector<Duration> less) {
    if (!is_anything(less)) return;
    result.without[static_cast<size_t>(cause)] =
        std::min(recorded, replay.completion(extra.and_nothing_faster(std::move(less))));
  };
  for (size_t i = 0; i < kGapCauses; ++i) {
    const auto cause = static_cast<GapCause>(i);
    if (cause != GapCause::kGenerator && CausesRemoved::is_of_executions(cause))
      replay_without(cause, extra.slower(cause, late[i], of_generator));
  }
  replay_without(GapCause::kGenerator, std::move(of_generator));
  return result;
}

}  // namespace rankwire
