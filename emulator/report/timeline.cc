#include "emulator/report/timeline.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Threads of one activity have neighbouring numbers.
constexpr size_t kLanesPerActivity = 1000;

/// The elements of the JSON array.
class EventList {
 public:
  explicit EventList(OutputFile& out) : out_(out) {}
  void add(const std::string& event) {
    out_ << separator_ << event;
    separator_ = ",\n";
  }

 private:
  OutputFile& out_;
  const char* separator_ = "\n";
};

/// Writes the events of one run.
class SideWriter {
 public:
  SideWriter(EventList& events, const char* side, uint32_t side_index)
      : events_(events), side_(side), side_index_(side_index) {}

  void add(const NodeInfo& node, uint32_t iteration, OperationTimes times) {
    if (node.rank != rank_) begin_rank(node.rank);
    const auto activity = static_cast<size_t>(activity_of(node.kind));
    const size_t lane = lanes_[activity].place(times);
    const size_t thread = 1 + activity * kLanesPerActivity + lane;
    if (lane >= named_[activity]) {
      name_thread(activity, lane, thread);
      named_[activity] = lane + 1;
    }
    events_.add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":{},)"
                            R"("args":{{"iteration":{},"node":{},"group":{},"bytes":{}}}}})",
                            process(), thread, exact_microseconds(times.start.ps),
                            exact_microseconds(times.duration().ps), quoted(node.name), quoted(node.kind), iteration,
                            node.id, quoted(node.group), node.bytes.count));
  }

 private:
  uint64_t process() const { return uint64_t{rank_.value} * 2 + side_index_ + 1; }

  void begin_rank(RankId rank) {
    rank_ = rank;
    for (LaneAllocator& lanes : lanes_) lanes.clear();
    named_ = {};
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"rank {} {}"}}}})", process(),
                            rank.value, side_));
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
                            process(), process()));
  }

  void name_thread(size_t activity, size_t lane, size_t thread) {
    static constexpr std::array kNames = {"compute", "communication"};
    const std::string name = lane == 0 ? kNames[activity] : fmt::format("{} {}", kNames[activity], lane + 1);
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", process(),
                            thread, name));
    events_.add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
                            process(), thread, thread));
  }

  EventList& events_;
  const char* const side_;
  const uint32_t side_index_;
  RankId rank_;
  std::array<LaneAllocator, 2> lanes_;
  std::array<size_t, 2> named_{};
};

}  // namespace

Activity activity_of(std::string_view kind) {
  return kind == "compute" || kind == "host" || kind == "memory" ? Activity::kCompute : Activity::kCommunication;
}

size_t LaneAllocator::place(OperationTimes times) {
  size_t lane = 0;
  while (lane < busy_until_.size() && busy_until_[lane] > times.start) ++lane;
  if (lane == busy_until_.size()) busy_until_.emplace_back();
  busy_until_[lane] = times.end;
  return lane;
}

void write_timeline(const RunReader& record, OutputFile& out) {
  out << R"({"displayTimeUnit":"ns","traceEvents":[)";
  EventList events(out);
  const std::array<const RecordedRun*, 2> sides = {record.emulated(), record.reference()};
  for (uint32_t side = 0; side < sides.size(); ++side) {
    if (sides[side] == nullptr) continue;
    SideWriter writer(events, to_string(sides[side]->start.fidelity), side);
    record.for_each_by_start(*sides[side], [&](const NodeInfo& node, uint32_t iteration, OperationTimes times) {
      writer.add(node, iteration, times);
    });
  }
  out << "\n]}\n";
}

}  // namespace rankwire
