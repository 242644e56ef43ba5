#include "emulator/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "emulator/report/activity.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/timeline_devices.h"
#include "emulator/report/timeline_flows.h"
#include "emulator/report/timeline_rates.h"
#include "emulator/report/timeline_tracks.h"
#include "emulator/report/trace_events.h"

namespace rankwire {
namespace {

/// Threads of one activity have neighbouring numbers.
constexpr size_t kLanesPerActivity = 1'000'000;

/// Writes the events of one run.
class SideWriter {
 public:
  SideWriter(TraceEvents& events, TimelineFlows& flows, const RankNames& names, const char* side, uint32_t side_index)
      : events_(events), flows_(flows), names_(names), side_(side), side_index_(side_index) {}

  void add(const NodeInfo& node, uint32_t iteration, OperationTimes times) {
    if (node.rank != rank_) begin_rank(node.rank);
    const auto activity = static_cast<size_t>(activity_of(node.kind));
    const size_t lane = lanes_[activity].place(times);
    const size_t thread = 1 + activity * kLanesPerActivity + lane;
    if (lane >= named_[activity]) {
      name_thread(activity, lane, thread);
      named_[activity] = lane + 1;
    }
    events_.begin();
    events_.format(R"({{"ph":"X","pid":{},"tid":{},"ts":)", process(), thread);
    events_.microseconds(times.start.ps);
    events_.text(R"(,"dur":)");
    events_.microseconds(times.duration().ps);
    events_.text(R"(,"name":)");
    events_.quoted(node.name);
    events_.text(R"(,"cat":)");
    events_.quoted(node.kind);
    events_.format(R"(,"args":{{"iteration":{},"node":{},"group":)", iteration, node.id);
    events_.quoted(node.group);
    events_.format(R"(,"bytes":{}}}}})", node.bytes.count);
    flows_.add(node, iteration, {process(), thread, times});
  }

 private:
  uint64_t process() const { return uint64_t{rank_.value} * 2 + side_index_ + 1; }

  void begin_rank(RankId rank) {
    rank_ = rank;
    for (LaneAllocator& lanes : lanes_) lanes.clear();
    named_ = {};
    events_.name("process_name", process(), 0, fmt::format("{} {}", names_.titled(rank.value), side_));
    events_.sort("process_sort_index", process(), 0, process());
  }

  void name_thread(size_t activity, size_t lane, size_t thread) {
    static constexpr std::array kNames = {"compute", "communication"};
    events_.name("thread_name", process(), thread,
                 lane == 0 ? kNames[activity] : fmt::format("{} {}", kNames[activity], lane + 1));
    events_.sort("thread_sort_index", process(), thread, thread);
  }

  TraceEvents& events_;
  TimelineFlows& flows_;
  const RankNames& names_;
  const char* const side_;
  const uint32_t side_index_;
  RankId rank_;
  std::array<LaneAllocator, 2> lanes_;
  std::array<size_t, 2> named_{};
};

/// Lets the longest executions pass, of those that last exactly as long as the shortest of them the first ones.
class LongestOnly {
 public:
  LongestOnly(const RunReader& record, uint64_t most) {
    if (record.operation_count() <= most) return;
    shortest_ = record.nth_longest(std::max<uint64_t>(most, 1)).value_or(Duration(0));
    ties_ = most - std::min(most, record.longer_than(shortest_));
  }
  Duration shortest() const { return shortest_; }
  bool pass(Duration duration) {
    if (duration > shortest_) return true;
    if (duration < shortest_ || ties_ == 0) return false;
    --ties_;
    return true;
  }

 private:
  Duration shortest_;
  uint64_t ties_ = UINT64_MAX;
};

/// What viewers show of what is not there: a mark at the beginning.
void write_note(TraceEvents& events, const std::string& text) {
  events.name("process_name", kNoteProcess, 0, "left out");
  events.sort("process_sort_index", kNoteProcess, 0, kNoteProcess);
  events.begin();
  events.format(R"({{"ph":"i","s":"p","pid":{},"tid":0,"ts":0,"name":)", kNoteProcess);
  events.quoted(text);
  events.text("}");
}

/// `activity` may be null; then what is too short is not read.
void write_events(const RunReader& record, OutputFile& out, const TimelineOptions& options, RecordActivity* activity) {
  out << R"({"displayTimeUnit":"ns","traceEvents":[)";
  LongestOnly longest(record, options.most);
  DrawnOf operations, path, samples, allowances, devices;
  TimelineFlows::Written flows;
  DrawnRates rates;
  {
    TraceEvents events(out);
    const RankNames names(record);
    if (options.diagnosis != nullptr) path = write_path_tracks(events, record, *options.diagnosis);
    const std::array<const RecordedRun*, 2> sides = {record.emulated(), record.reference()};
    for (uint32_t side = 0; side < sides.size(); ++side) {
      if (sides[side] == nullptr) continue;
      TimelineFlows of_side(record, *sides[side], options.most_flows);
      SideWriter writer(events, of_side, names, to_string(sides[side]->start.fidelity), side);
      record.for_each_by_start(*sides[side], activity != nullptr ? Duration(0) : longest.shortest(),
                               [&](const NodeInfo& node, uint32_t iteration, OperationTimes times) {
                                 if (activity != nullptr) add_activity(*activity, side, node.rank, node.kind, times);
                                 if (!longest.pass(times.duration())) return;
                                 writer.add(node, iteration, times);
                                 ++operations.drawn;
                               });
      const TimelineFlows::Written written = of_side.write(events, 1 + flows.flows);
      flows.flows += written.flows, flows.left_out += written.left_out;
    }
    samples = write_queue_counters(events, record);
    rates = write_rate_counters(events, record);
    allowances = write_allowance_counters(events, record);
    devices = write_device_counters(events, record);
    operations.left_out = record.operation_count() - operations.drawn;
    std::string note;
    for (const auto& [what, left_out] :
         {std::pair{"operations", operations.left_out}, std::pair{"arrows", flows.left_out},
          std::pair{"steps of the critical path", path.left_out}, std::pair{"samples of queues", samples.left_out},
          std::pair{"samples of what queue pairs may send", allowances.left_out},
          std::pair{"samples of devices", devices.left_out}})
      if (left_out > 0) note += fmt::format("{}{} {}", note.empty() ? "not drawn: " : ", ", left_out, what);
    if (!note.empty()) write_note(events, note);
  }
  out << fmt::format(
      "\n],\"otherData\":{{\"version\":{},\"operations\":{},\"left_out\":{},\"shortest_drawn_ps\":{},\"flows\":{},"
      "\"flows_left_out\":{},\"path_steps\":{},\"path_steps_left_out\":{},\"queue_samples\":{},"
      "\"queue_samples_left_out\":{},\"rate_points\":{},\"rate_interval_ps\":{},\"allowance_samples\":{},"
      "\"allowance_samples_left_out\":{},\"device_samples\":{},\"device_samples_left_out\":{}}}}}\n",
      nlohmann::json(record.version()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), operations.drawn,
      operations.left_out, longest.shortest().ps, flows.flows, flows.left_out, path.drawn, path.left_out, samples.drawn,
      samples.left_out, rates.points, rates.interval.ps, allowances.drawn, allowances.left_out, devices.drawn,
      devices.left_out);
}

}  // namespace

size_t LaneAllocator::place(OperationTimes times) {
  for (; !busy_.empty() && busy_.top().until <= times.start; busy_.pop()) free_.push(busy_.top().lane);
  size_t lane = lanes_;
  if (free_.empty()) {
    ++lanes_;
  } else {
    lane = free_.top();
    free_.pop();
  }
  busy_.push({times.end, lane});
  return lane;
}

void LaneAllocator::clear() {
  *this = LaneAllocator();
}

void write_timeline(const RunReader& record, OutputFile& out, const TimelineOptions& options) {
  write_events(record, out, options, nullptr);
}

RecordActivity write_timeline_with_activity(const RunReader& record, OutputFile& out, const TimelineOptions& options) {
  RecordActivity activity = no_activity(record);
  write_events(record, out, options, &activity);
  return activity;
}

}  // namespace rankwire
