#include "emulator/report/timeline_tracks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

/// Lets the longest steps pass, of equal ones the first.
class LongestSteps {
 public:
  LongestSteps(const CriticalPath& path, size_t most) {
    if (path.steps.size() <= most) return;
    std::vector<Duration> lengths;
    for (const CriticalStep& step : path.steps) lengths.push_back(step.length());
    std::ranges::sort(lengths, std::ranges::greater());
    shortest_ = lengths[most];
    ties_ = most -
            static_cast<size_t>(std::ranges::lower_bound(lengths, shortest_, std::ranges::greater()) - lengths.begin());
  }
  bool pass(Duration length) {
    if (length != shortest_) return length > shortest_;
    if (ties_ == 0) return false;
    --ties_;
    return true;
  }

 private:
  Duration shortest_{-1};
  size_t ties_ = 0;
};

DrawnOf write_path(TraceEvents& events, const CriticalPath& path, uint64_t thread, const RankNames& names,
                   size_t most) {
  DrawnOf result;
  LongestSteps longest(path, most);
  for (const CriticalStep& step : path.steps) {
    if (!longest.pass(step.length())) {
      ++result.left_out;
      continue;
    }
    ++result.drawn;
    events.begin();
    events.format(R"({{"ph":"X","pid":{},"tid":{},"ts":)", kPathProcess, thread);
    events.microseconds(step.from.ps);
    events.text(R"(,"dur":)");
    events.microseconds(step.length().ps);
    events.text(R"(,"name":)");
    events.quoted(step.node.name);
    events.text(R"(,"cat":"critical path","args":{"rank":)");
    events.quoted(names.titled(step.node.rank.value));
    events.text(R"(,"kind":)");
    events.quoted(step.node.kind);
    events.format(R"(,"iteration":{},"node":{},"waited_us":)", step.iteration, step.node.id);
    events.microseconds(step.before.ps);
    events.text("}}");
  }
  return result;
}

/// Counters of one queue. Values hold until the next.
class QueueTrack {
 public:
  QueueTrack(TraceEvents& events, std::string name, size_t stride)
      : events_(events), name_(std::move(name)), stride_(stride) {}

  void add(const QueueSampleRow& row) {
    marks_ += row.marks;
    drops_ += row.drops;
    if (held_ == 0 || row.length > longest_.length) longest_ = row;
    if (++held_ == stride_) write();
  }
  /// What is still held; the number of samples that were written.
  uint64_t finish() {
    if (held_ > 0) write();
    return written_;
  }

 private:
  void write() {
    counter(longest_.time, "bytes", static_cast<uint64_t>(longest_.length.count));
    if (marks_ != std::exchange(marks_told_, marks_)) counter(longest_.time, "marked so far", marks_);
    if (drops_ != std::exchange(drops_told_, drops_)) counter(longest_.time, "dropped so far", drops_);
    held_ = 0;
    ++written_;
  }
  void counter(Time time, const char* what, uint64_t value) {
    events_.begin();
    events_.format(R"({{"ph":"C","pid":{},"tid":0,"ts":)", kQueueProcess);
    events_.microseconds(std::max(time, Time()).ps);  // before it frames are announced alone
    events_.text(R"(,"name":)");
    events_.quoted(name_ + ' ' + what);
    events_.format(R"(,"args":{{"value":{}}}}})", value);
  }

  TraceEvents& events_;
  const std::string name_;
  const size_t stride_;
  QueueSampleRow longest_;
  size_t held_ = 0;
  uint64_t marks_ = 0, drops_ = 0, marks_told_ = 0, drops_told_ = 0, written_ = 0;
};

}  // namespace

DrawnOf write_path_tracks(TraceEvents& events, const RunReader& record, const Diagnosis& diagnosis, size_t most) {
  DrawnOf result;
  const RankNames names(record);
  const std::pair<const std::optional<CriticalPath>&, const RecordedRun*> sides[] = {
      {diagnosis.path, record.emulated()}, {diagnosis.reference_path, record.reference()}};
  uint64_t thread = 0;
  for (const auto& [path, run] : sides) {
    ++thread;
    if (!path || run == nullptr) continue;
    if (result.drawn + result.left_out == 0) {
      events.name("process_name", kPathProcess, 0, "critical path");
      events.sort("process_sort_index", kPathProcess, 0, 0);
    }
    events.name("thread_name", kPathProcess, thread, to_string(run->start.fidelity));
    events.sort("thread_sort_index", kPathProcess, thread, thread);
    const DrawnOf side = write_path(events, *path, thread, names, most);
    result.drawn += side.drawn, result.left_out += side.left_out;
  }
  return result;
}

DrawnOf write_queue_counters(TraceEvents& events, const RunReader& record, size_t most) {
  const RecordedRun* const run = record.emulated();
  const auto sampling = run == nullptr ? std::nullopt : record.queue_samples(*run);
  if (!sampling || sampling->rows.empty()) return {};
  events.name("process_name", kQueueProcess, 0, "queues");
  events.sort("process_sort_index", kQueueProcess, 0, kQueueProcess);
  const size_t stride = (sampling->rows.size() + most - 1) / most;
  std::map<std::pair<uint32_t, uint8_t>, QueueTrack> queues;
  for (const QueueSampleRow& row : sampling->rows) {
    const std::string name = fmt::format("{} priority {}", sampling->ports[row.port], row.priority);
    queues.try_emplace({row.port, row.priority}, events, name, stride).first->second.add(row);
  }
  DrawnOf result;
  for (auto& [key, queue] : queues) result.drawn += queue.finish();
  result.left_out = sampling->rows.size() - result.drawn;
  return result;
}

}  // namespace rankwire
