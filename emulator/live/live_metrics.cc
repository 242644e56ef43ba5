#include "emulator/live/live_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/live/late_ranks.h"
#include "emulator/live/live_state.h"

namespace rankwire {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::array kCounts = {
    LiveCountName{LiveCount::kOperations, "operations", "rankwire_operations_total",
                  "Executions of trace nodes that have ended."},
    LiveCountName{LiveCount::kInFlight, "in_flight", "rankwire_operations_in_flight",
                  "Communication operations of ranks that have begun and not ended."},
    LiveCountName{LiveCount::kMessages, "messages", "rankwire_messages_delivered_total", "Messages delivered."},
    LiveCountName{LiveCount::kPacketsSent, "packets_tx", "rankwire_sent_packets_total", "RoCEv2 packets sent."},
    LiveCountName{LiveCount::kPacketsReceived, "packets_rx", "rankwire_received_packets_total",
                  "RoCEv2 packets received."},
    LiveCountName{LiveCount::kBytesSent, "bytes_tx", "rankwire_sent_bytes_total", "Bytes of frames sent, without FCS."},
    LiveCountName{LiveCount::kBytesReceived, "bytes_rx", "rankwire_received_bytes_total",
                  "Bytes of frames received, without FCS."},
    LiveCountName{LiveCount::kRetransmitted, "retransmitted", "rankwire_retransmitted_packets_total",
                  "Data packets sent again."},
    LiveCountName{LiveCount::kTimeouts, "timeouts", "rankwire_timeouts_total", "Expirations of retransmission timers."},
    LiveCountName{LiveCount::kNaks, "naks", "rankwire_naks_received_total", "Sequence-error NAKs received."},
    LiveCountName{LiveCount::kMarks, "ecn_ce_rx", "rankwire_ecn_marked_packets_total", "Packets received with ECN CE."},
    LiveCountName{LiveCount::kCnpsSent, "cnp_tx", "rankwire_cnps_sent_total", "Congestion notification packets sent."},
    LiveCountName{LiveCount::kCnpsReceived, "cnp_rx", "rankwire_cnps_received_total",
                  "Congestion notification packets received."},
    LiveCountName{LiveCount::kPausesReceived, "pause_rx", "rankwire_pause_frames_received_total",
                  "PFC and PAUSE frames received."},
};
static_assert(kCounts.size() == static_cast<size_t>(LiveCount::kNumber));

/// Metrics under construction.
class Families {
 public:
  void add(const char* name, const char* help) {
    const bool is_counter = std::string_view(name).ends_with("_total");
    families_.push_back({name, help, is_counter ? MetricType::Counter : MetricType::Gauge, {}});
  }
  /// Of the family added last.
  void value(double value, std::vector<ClientMetric::Label> labels = {}) {
    ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    metric.counter.value = metric.gauge.value = value;
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

void add_jobs(Families& families, const LiveFeed& feed, const LiveFigures& figures) {
  const auto each = [&](const char* name, const char* help, auto value_of) {
    families.add(name, help);
    for (size_t job = 0; job < feed.jobs.size(); ++job)
      families.value(static_cast<double>(value_of(job)), {{"job", feed.jobs[job].name}});
  };
  each("rankwire_job_delivered_bytes_total", "Payload of a job's messages that were delivered, in bytes.",
       [&](size_t job) { return figures.jobs[job].bytes; });
  each("rankwire_job_iterations_total", "Iterations that all ranks of a job have ended.",
       [&](size_t job) { return figures.jobs[job].iterations; });
  each("rankwire_job_iterations_planned", "Iterations that a job has.",
       [&](size_t job) { return feed.jobs[job].iterations; });
}

void add_late_ranks(Families& families, const LiveFeed& feed, const LiveFigures& figures) {
  const std::vector<std::optional<LateRank>> late = late_ranks(feed, figures);
  const auto each = [&](const char* name, const char* help, double nobody, auto value_of) {
    families.add(name, help);
    for (size_t job = 0; job < feed.jobs.size(); ++job)
      families.value(late[job] ? value_of(*late[job]) : nobody, {{"job", feed.jobs[job].name}});
  };
  const auto seconds_of = [](Duration time) { return static_cast<double>(time.ps) / 1e12; };
  each("rankwire_job_late_rank", "The rank of a job that is furthest behind the median of its ranks; -1: none is.", -1,
       [](const LateRank& rank) { return static_cast<double>(rank.rank.value); });
  each("rankwire_job_late_rank_behind_operations", "Executions by which that rank is behind the median.", 0,
       [](const LateRank& rank) { return static_cast<double>(rank.operations); });
  each("rankwire_job_late_rank_behind_seconds", "By how much its last execution ended before that of the median rank.",
       0, [&](const LateRank& rank) { return seconds_of(rank.behind); });
  each("rankwire_job_late_rank_silent_seconds", "Since its last execution ended, in seconds.", 0,
       [&](const LateRank& rank) { return seconds_of(rank.silent); });
}

void add_ports(Families& families, const LiveFeed& feed, const LiveFigures& figures) {
  const auto each = [&](const char* name, const char* help, uint64_t PortTally::*field) {
    families.add(name, help);
    for (size_t port = 0; port < feed.ports.size(); ++port)
      families.value(static_cast<double>(figures.ports[port].*field), {{"port", feed.ports[port]}});
  };
  each("rankwire_port_sent_packets_total", "RoCEv2 packets that a port has sent.", &PortTally::tx_packets);
  each("rankwire_port_sent_bytes_total", "Bytes of frames that a port has sent, without FCS.", &PortTally::tx_bytes);
  each("rankwire_port_received_packets_total", "RoCEv2 packets that a port has received.", &PortTally::rx_packets);
  each("rankwire_port_received_bytes_total", "Bytes of frames that a port has received, without FCS.",
       &PortTally::rx_bytes);
}

}  // namespace

std::span<const LiveCountName> live_count_names() {
  return kCounts;
}

std::string metrics_text(const LiveState& state) {
  Families families;
  families.add("rankwire_run_info", "The run that is looked at.");
  families.value(1, {{"name", state.name()}});
  families.add("rankwire_run_ended", "1 once all has ended.");
  families.value(state.has_ended() ? 1 : 0);
  const std::shared_ptr<LiveFeed> feed = state.feed();
  if (!feed) return families.text();
  const LiveFigures figures = feed->read();
  families.add("rankwire_run_seconds", "Run time of the emulated run so far, in seconds.");
  families.value(static_cast<double>(figures.now.ps) / 1e12);
  families.add("rankwire_operations_planned", "Executions of trace nodes that the run has.");
  families.value(static_cast<double>(feed->operations));
  for (const LiveCountName& count : kCounts) {
    families.add(count.metric, count.help);
    families.value(static_cast<double>(figures[count.count]));
  }
  add_jobs(families, *feed, figures);
  add_late_ranks(families, *feed, figures);
  add_ports(families, *feed, figures);
  return families.text();
}

}  // namespace rankwire
