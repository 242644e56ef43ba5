// How exactly a queue pair keeps to its rate in real time, on a machine as it is.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/transport.h"
#include "tests/bench/bench.h"
#include "tests/bench/two_nics.h"

namespace rankwire::bench {
namespace {

constexpr Bandwidth kLine(10'000'000'000);
constexpr uint32_t kMtu = 4096;
constexpr uint32_t kLineOverhead = 24;  // of a frame: FCS, preamble, gap
constexpr Bytes kPacedMessage(1 << 20);
constexpr size_t kWindows = 5;       // without a stall are wanted,
constexpr size_t kMostWindows = 25;  // where the machine lets this many have them
constexpr Duration kPacedTime = seconds(1);

TransportPlan one_connection() {
  TransportPlan plan = plan_of_two_nics();
  plan.messages_in_flight = 4;
  Connection connection;
  connection.id = ConnectionId(0);
  connection.source_nic = NicId(0);
  connection.destination_nic = NicId(1);
  connection.largest_message = kPacedMessage;
  plan.connections.push_back(connection);
  return plan;
}

RoceOptions options_of(Bandwidth rate) {
  RoceOptions options;
  options.profile.window = 1024;
  options.profile.timeout_exponent = 20;  // 4.3 s: a machine that others use may take the core away for long
  options.receive_check = ReceiveCheck::kHeaderAndTrailer;
  options.congestion.algorithm = CongestionAlgorithm::kStatic;
  options.congestion.rate = rate;
  return options;
}

/// What one end of the link has sent, and what was too late.
struct Reading {
  Time at;
  uint64_t packets = 0, bytes_on_line = 0, stalls = 0, slips = 0;
  Duration slipped;  ///< what the schedule has lost for good: the queue pair's, at line rate the port's
};

/// A source that never runs out of messages, and its destination, on one core.
class PacedStream {
 public:
  explicit PacedStream(Bandwidth rate)
      : paced_(rate < kLine),
        links_(make_memory_link(pool_, 1024, "link")),
        source_(options_of(rate), {{PortId(0), links_.first.get(), kLine}}),
        destination_(options_of(rate), {{PortId(1), links_.second.get(), kLine}}) {
    const TransportPlan plan = one_connection();
    std::vector<EndPoint> ends = source_.prepare(plan);
    std::ranges::copy(destination_.prepare(plan), std::back_inserter(ends));
    source_.connect(ends);
    destination_.connect(ends);
    for (uint32_t i = 0; i < plan.messages_in_flight; ++i) post();
  }
  ~PacedStream() {
    source_.close();
    destination_.close();
  }

  /// Goes on for `time` and then until a packet has been sent: so the reading is that of a packet's begin.
  Reading run(Duration time) {
    const Time end = clock_.now() + time, last = end + seconds(1);
    while (clock_.now() < end) turn();
    const uint64_t before = source_.counters().data_packets_tx;
    while (source_.counters().data_packets_tx == before) {
      if (turn() > last) fail_run("the stream has stopped: {}", source_.describe(ConnectionId(0)));
    }
    return read();
  }

 private:
  Time turn() {
    std::array<Event, 16> events;
    const Time now = clock_.now();
    const size_t n = source_.poll(now, events);
    for (size_t i = 0; i < n; ++i) post();
    destination_.poll(now, events);
    now_ = now;
    return now;
  }
  void post() {
    Message message;
    message.bytes = kPacedMessage;
    message.connection = ConnectionId(0);
    message.index = posted_++;
    source_.post(now_, {&message, 1});
  }
  Reading read() const {
    const TransportCounters counters = source_.counters();
    Reading reading{.at = now_,
                    .packets = counters.data_packets_tx,
                    .stalls = counters.stalls,
                    .slipped = paced_ ? counters.pacing_slipped : counters.slipped};
    // The source sends data only.
    reading.bytes_on_line = counters.bytes_tx + kLineOverhead * counters.packets_tx;
    for (const NamedCounter& counter : source_.details())
      if (counter.name == "pacing_slips") reading.slips = counter.value;
    return reading;
  }

  const bool paced_;
  FramePool pool_{4096};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_;
  RoceTransport source_, destination_;
  RealClock clock_;
  Time now_;
  uint32_t posted_ = 0;
};

/// How far the mean rate between two readings is off, percent, if the schedule had `lost` less than the time between.
double error_of(const Reading& before, const Reading& after, Bandwidth rate, Duration lost) {
  const double bits = 8 * static_cast<double>(after.bytes_on_line - before.bytes_on_line);
  const double seconds = static_cast<double>((after.at - before.at - lost).ps) / 1e12;
  return 100 * (bits / seconds / static_cast<double>(rate.bits_per_second) - 1);
}

void print_precision(Bandwidth rate) {
  PacedStream stream(rate);
  std::vector<double> errors;     // of windows without a stall, percent
  std::vector<double> scheduled;  // of all, over the time that the schedule has not lost
  Reading before = stream.run(milliseconds(100));
  uint64_t slips = 0;
  Duration slipped;
  while (errors.size() < kWindows && scheduled.size() < kMostWindows) {
    const Reading after = stream.run(kPacedTime);
    slips += after.slips - before.slips;
    const Duration lost = after.slipped - before.slipped;
    slipped += lost;
    scheduled.push_back(error_of(before, after, rate, lost));
    if (after.stalls == before.stalls && after.slips == before.slips)
      errors.push_back(error_of(before, after, rate, Duration()));
    before = after;
  }
  std::printf("pacing  %7.0f Mb/s, MTU %u, line %.0f Gb/s: ", static_cast<double>(rate.bits_per_second) / 1e6, kMtu,
              static_cast<double>(kLine.bits_per_second) / 1e9);
  if (errors.empty()) {
    std::printf("no window of 1 s without a stall");
  } else {
    std::printf("mean rate %+.4f %% off, median of %zu windows of 1 s without a stall, of %zu", median(errors),
                errors.size(), scheduled.size());
  }
  std::printf("; %+.4f %% off without the %.3f ms that slipped in %lu slips, median of all %zu\n", median(scheduled),
              static_cast<double>(slipped.ps) / 1e9, slips, scheduled.size());
  std::fflush(stdout);
}

}  // namespace

void pacing_precision(Dpdk&) {
  for (const int64_t megabits : {10, 100, 1'000, 5'000, 10'000}) print_precision(Bandwidth(megabits * 1'000'000));
}

}  // namespace rankwire::bench
