#include "emulator/engine/live_observer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rankwire {
namespace {

constexpr size_t kToldWaits = 64;

}  // namespace

LiveObserver::LiveObserver(LiveFeed& feed, uint32_t worker, const Engine& engine, const Transport& transport,
                           std::span<const Route> routes, const BackgroundTraffic* background)
    : feed_(feed),
      worker_(worker),
      engine_(engine),
      transport_(transport),
      routes_(routes),
      background_(background),
      tally_(feed.tally(worker)),
      words_(feed.words()) {
  figures_.jobs.resize(feed.jobs.size());
  figures_.ports.resize(feed.ports.size());
  figures_.ranks.resize(feed.ranks.size());
  figures_.background.resize(feed.background.size());
}

void LiveObserver::note(std::span<const Event> events) noexcept {
  for (const Event& event : events) {
    const Route& route = routes_[event.connection.value];
    const auto bytes = static_cast<uint64_t>(event.bytes.count);
    if (event.kind == EventKind::kReceived) {
      ++figures_[LiveCount::kMessages];
      if (route.job.valid()) figures_.jobs[route.job.value].bytes += bytes;
      if (route.destination.valid()) tally_[route.destination.value].rx_bytes += bytes;
    } else if (event.kind == EventKind::kSent && route.source.valid()) {
      tally_[route.source.value].tx_bytes += bytes;
    }
  }
}

void LiveObserver::publish(Time now) {
  next_ = now + kInterval;
  const TransportCounters counters = transport_.counters();
  LiveFigures& f = figures_;
  f.now = now;
  f[LiveCount::kOperations] = engine_.nodes_completed();
  f[LiveCount::kInFlight] = engine_.communication().in_progress();
  f[LiveCount::kPacketsSent] = counters.packets_tx, f[LiveCount::kPacketsReceived] = counters.packets_rx;
  f[LiveCount::kBytesSent] = counters.bytes_tx, f[LiveCount::kBytesReceived] = counters.bytes_rx;
  f[LiveCount::kRetransmitted] = counters.retransmitted, f[LiveCount::kTimeouts] = counters.timeouts;
  f[LiveCount::kNaks] = counters.naks, f[LiveCount::kMarks] = counters.ecn_ce_rx;
  f[LiveCount::kCnpsSent] = counters.cnp_tx, f[LiveCount::kCnpsReceived] = counters.cnp_rx;
  f[LiveCount::kPausesReceived] = counters.pause_rx;
  for (uint32_t job = 0; job < f.jobs.size(); ++job) f.jobs[job].iterations = engine_.iterations_ended(JobId(job));
  std::ranges::copy(tally_, f.ports.begin());
  if (!f.ranks.empty()) engine_.tell_progress(f.ranks);
  if (!f.background.empty()) look_at_background();
  feed_.pack(f, words_);
  feed_.snapshot(worker_).publish(words_);
  if (feed_.waits.asked() != answered_) [[unlikely]]
    answer();
}

void LiveObserver::look_at_background() {
  const std::span<const BackgroundCounters> counters = background_->counters();
  for (size_t entry = 0; entry < counters.size(); ++entry) {
    const BackgroundCounters& c = counters[entry];
    figures_.background[entry] = {.posted = c.posted,
                                  .delivered = c.delivered,
                                  .failed = c.failed,
                                  .bytes_posted = c.bytes_posted,
                                  .bytes_delivered = c.bytes_delivered};
  }
  for (const BackgroundFlow& flow : background_->plan().flows) {
    if (!feed_.background[flow.entry].counts_packets) continue;
    const FlowPackets packets = transport_.packets_of(flow.connection).value_or(FlowPackets());
    figures_.background[flow.entry].packets_sent += packets.sent;
    figures_.background[flow.entry].packets_arrived += packets.arrived;
  }
}

/// Takes memory, and the loop stands still meanwhile: for who has asked, once a second at most.
void LiveObserver::answer() {
  answered_ = feed_.waits.asked();
  feed_.waits.tell(worker_, engine_.stall_report(kToldWaits, [this](ConnectionId connection) {
    return transport_.describe(connection);
  }));
}

}  // namespace rankwire
