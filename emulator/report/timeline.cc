#include "emulator/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "emulator/report/activity.h"
#include "emulator/report/format.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

/// Threads of one activity have neighbouring numbers.
constexpr size_t kLanesPerActivity = 1'000'000;

constexpr bool needs_no_escape(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/// The elements of the JSON array, gathered in one buffer.
class EventList {
 public:
  explicit EventList(OutputFile& out) : out_(out) {}
  ~EventList() { flush(); }
  EventList(const EventList&) = delete;
  EventList& operator=(const EventList&) = delete;

  void begin() {
    if (buffer_.size() > kFlushAt) flush();
    text(separator_);
    separator_ = ",\n";
  }
  template <class... Args>
  void format(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(fmt::appender(buffer_), form, std::forward<Args>(args)...);
  }
  void text(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  void quoted(const std::string& value) {
    if (std::all_of(value.begin(), value.end(), needs_no_escape)) {
      buffer_.push_back('"');
      text(value);
      buffer_.push_back('"');
    } else {
      text(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
  }
  void microseconds(int64_t ps) { text(exact_microseconds(ps)); }
  void flush() {
    out_ << std::string_view(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  static constexpr size_t kFlushAt = 1 << 16;
  OutputFile& out_;
  fmt::memory_buffer buffer_;
  std::string_view separator_ = "\n";
};

/// Writes the events of one run.
class SideWriter {
 public:
  SideWriter(EventList& events, const RankNames& names, const char* side, uint32_t side_index)
      : events_(events), names_(names), side_(side), side_index_(side_index) {}

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
  }

 private:
  uint64_t process() const { return uint64_t{rank_.value} * 2 + side_index_ + 1; }

  void begin_rank(RankId rank) {
    rank_ = rank;
    for (LaneAllocator& lanes : lanes_) lanes.clear();
    named_ = {};
    name("process_name", 0, fmt::format("{} {}", names_.titled(rank.value), side_));
    sort("process_sort_index", 0, process());
  }

  void name_thread(size_t activity, size_t lane, size_t thread) {
    static constexpr std::array kNames = {"compute", "communication"};
    name("thread_name", thread, lane == 0 ? kNames[activity] : fmt::format("{} {}", kNames[activity], lane + 1));
    sort("thread_sort_index", thread, thread);
  }

  void name(const char* what, size_t thread, const std::string& text) {
    events_.begin();
    events_.format(R"({{"ph":"M","pid":{},"tid":{},"ts":0,"name":"{}","args":{{"name":)", process(), thread, what);
    events_.quoted(text);
    events_.text("}}");
  }
  void sort(const char* what, size_t thread, uint64_t position) {
    events_.begin();
    events_.format(R"({{"ph":"M","pid":{},"tid":{},"ts":0,"name":"{}","args":{{"sort_index":{}}}}})", process(), thread,
                   what, position);
  }

  EventList& events_;
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

/// `activity` may be null; then what is too short is not read.
void write_events(const RunReader& record, OutputFile& out, uint64_t most, RecordActivity* activity) {
  EventList events(out);
  events.text(R"({"displayTimeUnit":"ns","traceEvents":[)");
  LongestOnly longest(record, most);
  uint64_t drawn = 0;
  const RankNames names(record);
  const std::array<const RecordedRun*, 2> sides = {record.emulated(), record.reference()};
  for (uint32_t side = 0; side < sides.size(); ++side) {
    if (sides[side] == nullptr) continue;
    SideWriter writer(events, names, to_string(sides[side]->start.fidelity), side);
    record.for_each_by_start(*sides[side], activity != nullptr ? Duration(0) : longest.shortest(),
                             [&](const NodeInfo& node, uint32_t iteration, OperationTimes times) {
                               if (activity != nullptr) add_activity(*activity, side, node.rank, node.kind, times);
                               if (!longest.pass(times.duration())) return;
                               writer.add(node, iteration, times);
                               ++drawn;
                             });
  }
  events.format("\n],\"otherData\":{{\"version\":{},\"operations\":{},\"left_out\":{},\"shortest_drawn_ps\":{}}}}}\n",
                nlohmann::json(record.version()).dump(), drawn, record.operation_count() - drawn,
                longest.shortest().ps);
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

void write_timeline(const RunReader& record, OutputFile& out, uint64_t most) {
  write_events(record, out, most, nullptr);
}

RecordActivity write_timeline_with_activity(const RunReader& record, OutputFile& out, uint64_t most) {
  RecordActivity activity = no_activity(record);
  write_events(record, out, most, &activity);
  return activity;
}

}  // namespace rankwire
