#include "emulator/report/timeline_flows.h"

#include <algorithm>
#include <string>

namespace rankwire {
namespace {

/// Viewers count in nanoseconds: an end that is rounded is still within its slice.
constexpr Duration kWithin = nanoseconds(2);

/// The time, or the nearest one that is within the slice.
Time within(const OperationTimes& slice, Time time) {
  return std::max(slice.start, std::min(time, slice.end - kWithin));
}

void write_end(TraceEvents& events, const char* phase, uint64_t id, const DrawnSlice& slice, Time time) {
  events.begin();
  events.format(R"({{{},"id":{},"pid":{},"tid":{},"ts":)", phase, id, slice.process, slice.thread);
  events.microseconds(time.ps);
  events.text(R"(,"name":"message","cat":"message")");
}

}  // namespace

TimelineFlows::TimelineFlows(const RunReader& record, const RecordedRun& run, size_t most) : most_(most) {
  std::vector<JoinedMessage> slowest = record.slowest_messages(run, static_cast<uint32_t>(most));
  uint64_t others = 0;
  for (JoinedMessage& m : slowest) {
    // A SEND has its arrow without them.
    if (m.id.control || m.id.group == MessageId::kPointToPoint) {
      ++others;
      continue;
    }
    const auto number = static_cast<uint32_t>(messages_.size());
    const auto member = [&](uint64_t rank) {
      return Member(static_cast<uint32_t>(rank), static_cast<uint32_t>(m.id.iteration),
                    static_cast<uint32_t>(m.id.sequence), static_cast<uint32_t>(m.id.job));
    };
    wanted_.emplace(member(m.id.source), MessageEnd{number, true});
    wanted_.emplace(member(m.id.destination), MessageEnd{number, false});
    messages_.push_back({std::move(m), {}, {}});
  }
  known_ = messages_.size();
  if (slowest.size() == most && run.latency) known_ = std::max(known_, run.latency->count - others);
}

void TimelineFlows::add(const NodeInfo& node, uint32_t iteration, const DrawnSlice& slice) {
  if (const bool sends = node.kind == "send"; sends || node.kind == "receive") {
    if (!node.peer.valid()) return;
    const uint32_t source = sends ? node.rank.value : node.peer.value;
    const uint32_t destination = sends ? node.peer.value : node.rank.value;
    ends_.push_back(
        {Pair(node.job.value, source, destination, node.tag, node.sequence, iteration), sends, slice, node.bytes});
    return;
  }
  if (node.group.empty()) return;
  const auto [begin, end] = wanted_.equal_range(Member(node.rank.value, iteration, node.sequence, node.job.value));
  for (auto at = begin; at != end; ++at) {
    MessageArrow& arrow = messages_[at->second.message];
    if (arrow.message.group == node.group) (at->second.sends ? arrow.from : arrow.to) = slice;
  }
}

std::vector<TimelineFlows::Arrow> TimelineFlows::pairs() {
  // Of one pair the SEND first.
  std::ranges::sort(ends_, [](const PairEnd& a, const PairEnd& b) {
    return a.pair != b.pair ? a.pair < b.pair : a.sends && !b.sends;
  });
  std::vector<Arrow> arrows;
  for (size_t i = 0; i + 1 < ends_.size(); ++i) {
    const PairEnd &from = ends_[i], &to = ends_[i + 1];
    if (from.pair != to.pair || !from.sends || to.sends) continue;
    arrows.push_back({from.slice, to.slice, within(from.slice.times, from.slice.times.start),
                      within(to.slice.times, to.slice.times.end), from.bytes});
  }
  return arrows;
}

std::vector<TimelineFlows::Arrow> TimelineFlows::messages() const {
  std::vector<Arrow> arrows;
  for (const MessageArrow& m : messages_) {
    if (m.from.thread == 0 || m.to.thread == 0) continue;
    arrows.push_back({m.from, m.to, within(m.from.times, m.message.posted), within(m.to.times, m.message.delivered),
                      m.message.bytes});
  }
  return arrows;
}

TimelineFlows::Written TimelineFlows::write(TraceEvents& events, uint64_t first) {
  Written written;
  const auto write_all = [&](std::vector<Arrow> arrows, uint64_t known) {
    std::erase_if(arrows, [](const Arrow& arrow) { return arrow.length() < Duration(); });
    if (arrows.size() > most_) {
      std::ranges::stable_sort(arrows, std::ranges::greater(), &Arrow::length);
      arrows.resize(most_);
    }
    for (const Arrow& arrow : arrows) {
      const uint64_t id = first + written.flows++;
      write_end(events, R"("ph":"s")", id, arrow.from, arrow.sent);
      events.format(R"(,"args":{{"bytes":{}}}}})", arrow.bytes.count);
      write_end(events, R"("ph":"f","bp":"e")", id, arrow.to, arrow.received);
      events.text("}");
    }
    written.left_out += std::max<uint64_t>(known, arrows.size()) - arrows.size();
  };
  std::vector<Arrow> of_pairs = pairs();
  const uint64_t known_pairs = of_pairs.size();
  write_all(std::move(of_pairs), known_pairs);
  write_all(messages(), known_);
  return written;
}

}  // namespace rankwire
