// RunReader's view of what the transport counted.
#include <algorithm>

#include "base/error.h"
#include "base/transport_counters.h"
#include "emulator/record/columns.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

LatencyKind kind_of(const std::string& text) {
  for (const LatencyKind kind : {LatencyKind::kRoundTrip, LatencyKind::kOneWay}) {
    if (text == to_string(kind)) return kind;
  }
  fail_input("run record: unknown kind of latency '{}'", text);
}

}  // namespace

// In the row of a port's first queue.
void RunReader::read_rdma(const RecordedRun& run, std::vector<PortCounters>& ports) const {
  if (!has_table("port_rdma")) return;
  Statement rows = database_.prepare("SELECT port, name, value FROM port_rdma WHERE run=?");
  rows.bind(run.run);
  while (rows.step()) {
    const auto port = std::ranges::find(ports, PortId(small(rows, 0)), &PortCounters::port);
    if (port == ports.end()) continue;
    if (rows.text(1) == "rx_icrc_encapsulated") port->rx_icrc_encapsulated = count(rows, 2);
    add_counter(port->rdma, rows.text(1), count(rows, 2));
  }
}

void RunReader::read_pauses(const RecordedRun& run, std::vector<PortCounters>& ports) const {
  if (!has_table("port_pauses")) return;
  Statement rows = database_.prepare(
      "SELECT port, name, pause_tx, pause_rx, paused_0_ps, paused_1_ps, paused_2_ps, paused_3_ps, paused_4_ps, "
      "paused_5_ps, paused_6_ps, paused_7_ps FROM port_pauses WHERE run=?");
  rows.bind(run.run);
  while (rows.step()) {
    const auto port = std::ranges::find_if(
        ports, [&](const PortCounters& p) { return p.port == PortId(small(rows, 0)) && p.name == rows.text(1); });
    if (port == ports.end()) continue;
    port->pause_tx = count(rows, 2), port->pause_rx = count(rows, 3);
    for (size_t i = 0; i < port->paused.size(); ++i) port->paused[i] = duration(rows, static_cast<int>(4 + i));
  }
}

void RunReader::read_drivers(const RecordedRun& run, std::vector<PortCounters>& ports) const {
  if (!has_table("port_drivers")) return;
  Statement rows = database_.prepare("SELECT port, name, worker, slipped_ps FROM port_drivers WHERE run=?");
  rows.bind(run.run);
  while (rows.step()) {
    for (PortCounters& port : ports) {
      if (port.port != PortId(small(rows, 0)) || port.name != rows.text(1)) continue;
      if (const auto worker = rows.optional_integer(2)) port.worker = static_cast<uint32_t>(*worker);
      port.slipped = duration(rows, 3);
    }
  }
}

std::vector<PortCounters> RunReader::ports(const RecordedRun& run) const {
  Statement rows = database_.prepare(
      "SELECT port, name, tx_frames, tx_bytes, rx_frames, rx_bytes, tx_refused, rx_missed, dropped, marked, "
      "hardware_time, arrival_error_ps FROM ports WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  std::vector<PortCounters> ports;
  while (rows.step()) {
    ports.push_back({.port = PortId(small(rows, 0)),
                     .name = rows.text(1),
                     .tx_frames = count(rows, 2),
                     .tx_bytes = count(rows, 3),
                     .rx_frames = count(rows, 4),
                     .rx_bytes = count(rows, 5),
                     .tx_refused = count(rows, 6),
                     .rx_missed = count(rows, 7),
                     .dropped = count(rows, 8),
                     .marked = count(rows, 9),
                     .hardware_time = rows.integer(10) != 0,
                     .arrival_error = duration(rows, 11)});
  }
  read_pauses(run, ports);
  read_rdma(run, ports);
  read_drivers(run, ports);
  return ports;
}

std::vector<RankNic> RunReader::rank_nics(const RecordedRun& run) const {
  const char* const host =
      has_table("rank_hosts") ? "(SELECT host FROM rank_hosts h WHERE h.run=n.run AND h.rank=n.rank)" : "NULL";
  Statement rows =
      database_.prepare(fmt::format("SELECT nic, port, mac, ip, {} FROM rank_nics n WHERE run=? ORDER BY rank", host));
  rows.bind(run.run);
  std::vector<RankNic> nics;
  while (rows.step()) {
    RankNic& nic = nics.emplace_back(
        RankNic{.nic = NicId(small(rows, 0)), .port = PortId(small(rows, 1)), .mac = rows.text(2), .ip = rows.text(3)});
    if (const auto of_rank = rows.optional_integer(4)) nic.host = static_cast<uint32_t>(*of_rank);
  }
  return nics;
}

std::vector<LatencyRow> RunReader::latencies(const RecordedRun& run) const {
  Statement rows = database_.prepare(
      "SELECT latency, port, kind, count, min_ps, mean_ps, p50_ps, p90_ps, p99_ps, p999_ps, max_ps, hardware_time, "
      "error_ps FROM latency WHERE run=? ORDER BY latency");
  Statement buckets =
      database_.prepare("SELECT low_ps, high_ps, count FROM latency_buckets WHERE latency=? ORDER BY low_ps");
  rows.bind(run.run);
  std::vector<LatencyRow> latencies;
  while (rows.step()) {
    const auto port = rows.optional_integer(1);
    LatencyRow& row = latencies.emplace_back(LatencyRow{.port = port ? PortId(static_cast<uint32_t>(*port)) : PortId(),
                                                        .kind = kind_of(rows.text(2)),
                                                        .count = count(rows, 3),
                                                        .min = duration(rows, 4),
                                                        .mean = duration(rows, 5),
                                                        .p50 = duration(rows, 6),
                                                        .p90 = duration(rows, 7),
                                                        .p99 = duration(rows, 8),
                                                        .p999 = duration(rows, 9),
                                                        .max = duration(rows, 10),
                                                        .hardware_time = rows.integer(11) != 0,
                                                        .error = duration(rows, 12)});
    buckets.bind(rows.integer(0));
    while (buckets.step()) row.buckets.push_back({duration(buckets, 0), duration(buckets, 1), count(buckets, 2)});
  }
  return latencies;
}

bool RunReader::has_table(const char* name) const {
  Statement rows = database_.prepare("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?");
  rows.bind(name);
  return rows.step();
}

std::vector<FailureRow> RunReader::failures(const RecordedRun& run) const {
  std::vector<FailureRow> failures;
  if (!has_table("failures")) return failures;
  Statement rows = database_.prepare(
      "SELECT connection, source, destination, operation, message, reason, state FROM failures WHERE run=? ORDER BY "
      "rowid");
  rows.bind(run.run);
  while (rows.step()) {
    FailureRow& row = failures.emplace_back();
    row.connection.id = ConnectionId(small(rows, 0));
    row.connection.source = RankId(small(rows, 1));
    row.connection.destination = RankId(small(rows, 2));
    row.operation = rows.text(3), row.message = rows.text(4), row.reason = rows.text(5), row.state = rows.text(6);
  }
  return failures;
}

std::vector<WrongMessagesRow> RunReader::wrong_messages(const RecordedRun& run) const {
  std::vector<WrongMessagesRow> messages;
  if (!has_table("wrong_messages")) return messages;
  Statement rows = database_.prepare("SELECT operation, messages FROM wrong_messages WHERE run=? ORDER BY operation");
  rows.bind(run.run);
  while (rows.step()) messages.push_back({rows.text(0), count(rows, 1)});
  return messages;
}

std::vector<HardwareCounterRow> RunReader::hardware_counters(const RecordedRun& run) const {
  std::vector<HardwareCounterRow> counters;
  if (!has_table("hardware_counters")) return counters;
  Statement rows =
      database_.prepare("SELECT port, name, before, after FROM hardware_counters WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  while (rows.step()) counters.push_back({PortId(small(rows, 0)), rows.text(1), count(rows, 2), count(rows, 3)});
  return counters;
}

std::vector<PortSettingRow> RunReader::port_settings(const RecordedRun& run) const {
  std::vector<PortSettingRow> settings;
  if (!has_table("port_settings")) return settings;
  Statement rows = database_.prepare("SELECT port, name, before, after FROM port_settings WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  while (rows.step()) settings.push_back({PortId(small(rows, 0)), rows.text(1), rows.text(2), rows.text(3)});
  return settings;
}

std::vector<ImpairmentRow> RunReader::impairments(const RecordedRun& run) const {
  std::vector<ImpairmentRow> impairments;
  if (!has_table("impairments")) return impairments;
  Statement rows = database_.prepare(
      "SELECT time_ps, rule, action, port, direction, connection, source, destination, operation, message, packet, "
      "psn, opcode FROM impairments WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  const auto optional = [&](int column) {
    const auto value = rows.optional_integer(column);
    return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
  };
  while (rows.step()) {
    ImpairmentRow& row = impairments.emplace_back();
    row.time = Time(rows.integer(0));
    row.rule = small(rows, 1), row.action = rows.text(2);
    row.port = PortId(small(rows, 3)), row.direction = rows.text(4);
    if (const auto id = optional(5)) {
      row.connection.id = ConnectionId(*id);
      row.connection.source = RankId(small(rows, 6));
      row.connection.destination = RankId(small(rows, 7));
    }
    row.operation = rows.text(8), row.message = rows.text(9);
    row.packet = optional(10), row.psn = optional(11), row.opcode = rows.text(12);
  }
  return impairments;
}

std::vector<ImpairmentRuleRow> RunReader::impairment_rules(const RecordedRun& run) const {
  std::vector<ImpairmentRuleRow> rules;
  if (!has_table("impairment_rules")) return rules;
  Statement rows =
      database_.prepare("SELECT rule, action, done, not_done FROM impairment_rules WHERE run=? ORDER BY rule");
  rows.bind(run.run);
  while (rows.step()) rules.push_back({small(rows, 0), rows.text(1), count(rows, 2), count(rows, 3)});
  return rules;
}

std::optional<QueueSampling> RunReader::queue_samples(const RecordedRun& run) const {
  if (!has_table("queue_sampling")) return std::nullopt;
  Statement how = database_.prepare("SELECT interval_ps, rows_lost FROM queue_sampling WHERE run=?");
  how.bind(run.run);
  if (!how.step()) return std::nullopt;
  QueueSampling sampling{.interval = duration(how, 0), .lost = count(how, 1)};
  Statement rows = database_.prepare(
      "SELECT time_ps, name, priority, queue_bytes, paused, marks, drops, xoff_rx, xoff_tx FROM queue_samples WHERE "
      "run=? ORDER BY rowid");
  rows.bind(run.run);
  std::map<std::string, uint32_t, std::less<>> ports;
  while (rows.step()) {
    auto port = ports.find(rows.text(1));
    if (port == ports.end()) {
      port = ports.emplace(rows.text(1), static_cast<uint32_t>(sampling.ports.size())).first;
      sampling.ports.push_back(port->first);
    }
    sampling.rows.push_back({.time = Time(rows.integer(0)),
                             .port = port->second,
                             .priority = static_cast<uint8_t>(rows.integer(2)),
                             .paused = rows.integer(4) != 0,
                             .length = Bytes(rows.integer(3)),
                             .marks = small(rows, 5),
                             .drops = small(rows, 6),
                             .xoff_rx = small(rows, 7),
                             .xoff_tx = small(rows, 8)});
  }
  return sampling;
}

std::vector<SharedLinkRow> RunReader::shared_links(const RecordedRun& run) const {
  std::vector<SharedLinkRow> links;
  if (!has_table("shared_links")) return links;
  Statement rows = database_.prepare(
      "SELECT link, job, other, time_ps, shared_ps, bytes, shared_bytes FROM shared_links WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  while (rows.step()) {
    links.push_back({.link = rows.text(0),
                     .job = JobId(small(rows, 1)),
                     .other = JobId(small(rows, 2)),
                     .time = duration(rows, 3),
                     .shared = duration(rows, 4),
                     .bytes = Bytes(rows.integer(5)),
                     .shared_bytes = Bytes(rows.integer(6))});
  }
  return links;
}

std::vector<StormRow> RunReader::storms(const RecordedRun& run) const {
  std::vector<StormRow> storms;
  if (!has_table("storms")) return storms;
  Statement rows = database_.prepare(
      "SELECT name, priority, stuck_ps, begin_ps, end_ps, dropped, forwarded FROM storms WHERE run=? ORDER BY rowid");
  rows.bind(run.run);
  while (rows.step()) {
    const std::optional<int64_t> end = rows.optional_integer(4);
    storms.push_back({.name = rows.text(0),
                      .priority = static_cast<uint8_t>(rows.integer(1)),
                      .stuck = Time(rows.integer(2)),
                      .begin = Time(rows.integer(3)),
                      .end = end ? std::optional(Time(*end)) : std::nullopt,
                      .dropped = count(rows, 5),
                      .forwarded = count(rows, 6)});
  }
  return storms;
}

}  // namespace rankwire
