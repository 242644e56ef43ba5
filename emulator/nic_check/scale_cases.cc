// Ever more queue pairs, and ever larger messages.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

/// Work requests that wait for their completion, of all queue pairs: less than a completion queue has room for.
constexpr size_t kUnderWay = 1024;
/// Frames after which the capture begins anew: of a message that is larger than it can hold it has the last part.
constexpr size_t kCapturedFrames = 8192;

/// 1, 4, 16, ... and the most.
std::vector<uint32_t> counts_up_to(uint32_t most) {
  std::vector<uint32_t> counts;
  for (uint32_t count = 1; count < most; count *= 4) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

/// 1 MiB, eight times as much and so on, and the largest.
std::vector<uint32_t> sizes_up_to(uint32_t largest) {
  std::vector<uint32_t> sizes;
  for (uint64_t size = NicBench::kSpace; size < largest; size *= 8) sizes.push_back(static_cast<uint32_t>(size));
  sizes.push_back(std::max(largest, NicBench::kSpace));
  return sizes;
}

double seconds_since(NicBench& bench, Time began) {
  return static_cast<double>((bench.now() - began).ps) / 1e12;
}

/// Queue pairs beside those that there are, until there are `count`. Why that could not be; empty: it could.
std::string open_up_to(NicBench& bench, std::vector<PeerEnd*>& ends, uint32_t count) {
  const Time began = bench.now();
  while (ends.size() < count) {
    if (bench.now() - began > bench.options().scale.step)
      return fmt::format("no more than {} queue pairs were made in time", ends.size());
    try {
      ends.push_back(&bench.open({.depth = 4}));
    } catch (const Error& error) {
      return fmt::format("the NIC made no more than {} queue pairs: {}", ends.size(), error.what());
    }
    ends.back()->keeps_payload = false;
  }
  return {};
}

/// WRITEs of all queue pairs in turn, of each two at a time: two, or more where there are few, so that it does not
/// count how they begin and end. Messages a second.
double rate_over(NicBench& bench, const std::vector<PeerEnd*>& ends) {
  constexpr size_t kFewest = 64;
  const size_t before = bench.completions().size(), of_all = 2 * ends.size();
  const size_t messages = std::max(of_all, kFewest / of_all * of_all);
  const Duration limit = ack_timeout(bench.limits().timeout_exponent) * 4;
  const Time began = bench.now();
  for (size_t posted = 0; posted < messages;) {
    const size_t wave = std::min({kUnderWay, of_all, messages - posted});
    for (size_t i = 0; i < wave; ++i) bench.post(*ends[(posted + i) % ends.size()], WorkKind::kWrite, 512);
    posted += wave;
    bench.run_until([&] { return bench.completions().size() >= before + posted; }, limit);
    bench.require(bench.completions().size() == before + posted, {},
                  fmt::format("{} of {} WRITEs over {} queue pairs completed within the limit",
                              bench.completions().size() - before, posted, ends.size()));
    if (bench.log().size() > kCapturedFrames) bench.log().clear();
  }
  for (size_t i = before; i < bench.completions().size(); ++i)
    bench.require(bench.completions()[i].status == WorkStatus::kSuccess, {},
                  fmt::format("a WRITE over {} queue pairs completed with '{}'", ends.size(),
                              to_string(bench.completions()[i].status)));
  const double lasted = seconds_since(bench, began);
  return lasted > 0 ? static_cast<double>(messages) / lasted : 0;
}

void send_many(NicBench& bench) {
  MeasuredCurve curve{"messages by queue pairs", "queue pairs", "", "messages", "1/s", {}};
  std::vector<PeerEnd*> ends;
  for (const uint32_t count : counts_up_to(bench.options().scale.queue_pairs)) {
    const Time began = bench.now();
    const std::string stopped = open_up_to(bench, ends, count);
    if (!stopped.empty() && curve.points.empty()) fail_run("{}", stopped);
    if (!stopped.empty()) {
      bench.outcome().anomalies.push_back(stopped);
      break;
    }
    curve.points.push_back({static_cast<double>(count), rate_over(bench, ends)});
    if (bench.now() - began <= bench.options().scale.step || count == bench.options().scale.queue_pairs) continue;
    bench.outcome().anomalies.push_back(fmt::format("{} queue pairs took so long that no more were tried", count));
    break;
  }
  const auto best = std::ranges::max_element(curve.points, {}, &MeasuredCurve::Point::y);
  const auto cliff = std::find_if(best, curve.points.end(), [&](const auto& point) { return point.y < best->y / 2; });
  bench.measure(measured("queue pairs, the most that were tried", curve.points.back().x, ""));
  bench.measure(measured("messages at the best number of queue pairs", best->y, "1/s"));
  if (cliff != curve.points.end())
    bench.measure(measured("queue pairs at which less than half of that is left", cliff->x, ""));
  bench.add_curve(std::move(curve));
}

/// Whether the NIC takes messages of that size and its memory has room for one; tells where not.
bool has_room(NicBench& bench, uint32_t bytes) {
  if (bytes > bench.nic().facts().largest) {
    bench.outcome().anomalies.push_back(
        fmt::format("the NIC takes messages of {} bytes at most, as its driver says", bench.nic().facts().largest));
    return false;
  }
  if (bytes <= NicBench::kSpace || bench.nic().region().bytes - NicBench::kLarge >= bytes) return true;
  bench.outcome().anomalies.push_back(
      fmt::format("the NIC's memory has no room for {} bytes: an agent gets more by "
                  "--largest",
                  bytes));
  return false;
}

/// Beyond time-outs and answers what the line needs, many times: a driver in another process is no fast one.
Duration time_for(NicBench& bench, uint32_t bytes) {
  return ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer * 4 +
         serialization_time(Bytes(bytes), bench.options().line) * 100;
}

EndOptions options_for(NicBench& bench, uint32_t bytes) {
  EndOptions options;
  if (bytes > NicBench::kSpace) options.mtu = std::min(bench.nic().facts().mtu, bench.options().mtu);
  return options;
}

void send_large(NicBench& bench) {
  MeasuredCurve curve{"WRITEs of the NIC", "size", "B", "rate", "Gbit/s", {}};
  for (const uint32_t bytes : sizes_up_to(bench.options().scale.largest)) {
    if (!has_room(bench, bytes)) break;
    if (bytes > NicBench::kSpace) bench.write_pattern(NicBench::kLarge, bytes);
    PeerEnd& end = bench.open(options_for(bench, bytes));
    end.keeps_payload = false;
    end.compares_payload = true;
    const Time began = bench.now();
    const uint64_t id = bench.post(end, WorkKind::kWrite, bytes);
    const bool completed = bench.run_until(
        [&] {
          if (bench.log().size() > kCapturedFrames) bench.log().clear();
          return bench.completion(id) != nullptr;
        },
        time_for(bench, bytes));
    bench.require(completed, {},
                  fmt::format("no completion in time, when {} of {} bytes had arrived", end.arrived, bytes));
    bench.expect_completion(id, WorkStatus::kSuccess, Duration());
    bench.require(end.arrived == bytes, {}, fmt::format("{} of {} bytes arrived", end.arrived, bytes));
    bench.require(!end.first_wrong_byte, {},
                  fmt::format("byte {} of {} is not the one that was sent", end.first_wrong_byte.value_or(0), bytes));
    const double lasted = seconds_since(bench, began);
    curve.points.push_back({static_cast<double>(bytes), lasted > 0 ? 8.0 * bytes / lasted / 1e9 : 0});
  }
  bench.add_curve(std::move(curve));
}

/// A WRITE to the NIC, acknowledged by each sixteenth packet: no faster than a receiver without flow control can take
/// it.
void write_to(NicBench& bench, PeerEnd& end, uint32_t offset, uint32_t bytes) {
  const uint32_t mtu = end.options.mtu, packets = bytes / mtu;
  for (uint32_t i = 0; i < packets; ++i) {
    if (bench.log().size() > kCapturedFrames) bench.log().clear();
    const size_t sent = bench.log().size();
    const bool asks = i % 16 == 15 || i + 1 == packets;
    bench.send(end, {.opcode = i == 0             ? Opcode::kWriteFirst
                               : i + 1 == packets ? Opcode::kWriteLast
                                                  : Opcode::kWriteMiddle,
                     .payload = NicBench::pattern_bytes(mtu, uint64_t{i} * mtu),
                     .ack_request = asks,
                     .address = bench.nic().region().address + offset,
                     .dma_length = bytes});
    if (asks) bench.answer(end, sent, bench.limits().answer);
  }
}

void receive_large(NicBench& bench) {
  for (const uint32_t bytes : sizes_up_to(bench.options().scale.largest)) {
    if (!has_room(bench, bytes)) break;
    const uint32_t offset = bytes > NicBench::kSpace ? NicBench::kLarge : NicBench::kTarget;
    PeerEnd& end = bench.open(options_for(bench, bytes));
    write_to(bench, end, offset, bytes);
    bench.expect_ack(end, 0, psn_add(end.next_psn, kPsnMask), 1);
    bench.expect_pattern(offset, bytes, "what was written");
  }
}

}  // namespace

NicCases scale_cases() {
  NicCases cases;
  cases.push_back({"robustness.queue_pairs", "many queue pairs",
                   "1 to 256 queue pairs of the NIC, or up to --queue-pairs, send two WRITEs each",
                   "all complete; messages a second are drawn over queue pairs",
                   "Kong et al., Collie, NSDI 2022 (scale of queue pairs)", send_many});
  cases.push_back({"robustness.size.send", "large message sent",
                   "the NIC sends a WRITE of 1 MiB, and larger ones up to --largest", "completes, all bytes arrive",
                   kReliability, send_large});
  cases.push_back({"robustness.size.receive", "large message received",
                   "a WRITE of 1 MiB arrives, and larger ones up to --largest, with an acknowledgement asked for by "
                   "each sixteenth packet",
                   "acknowledged, and all bytes are in memory", kReliability, receive_large});
  return cases;
}

}  // namespace rankwire
