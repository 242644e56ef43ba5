// One run of the records of several machines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/histogram.h"
#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

/// How rows of a table of a part become rows of the whole, where workers are counted through all parts.
struct TakenTable {
  const char* table;
  std::string_view times = "";     ///< columns of run time, which become the leader's, each in blanks
  std::string_view conflict = "";  ///< what becomes of a row that the whole has already
  bool of_leader = false;          ///< all parts have the same
};

constexpr std::string_view kFlowSums =
    "ON CONFLICT DO UPDATE SET source_qp = max(source_qp, excluded.source_qp), "
    "destination_qp = max(destination_qp, excluded.destination_qp), messages = messages + excluded.messages, "
    "bytes = bytes + excluded.bytes, packets = packets + excluded.packets, "
    "retransmitted = retransmitted + excluded.retransmitted, naks = naks + excluded.naks, "
    "rnr_naks = rnr_naks + excluded.rnr_naks, timeouts = timeouts + excluded.timeouts, marks = marks + excluded.marks";

// One end of a flow knows what was sent, the other what arrived.
constexpr std::array kTaken{
    TakenTable{"operations", " start_ps end_ps "},
    TakenTable{"operation_causes"},
    TakenTable{"rank_completion", " completion_ps ",
               "ON CONFLICT DO UPDATE SET completion_ps = max(completion_ps, excluded.completion_ps)"},
    TakenTable{"compute_times"},
    TakenTable{"compute_variation"},
    TakenTable{"stragglers", "", "", true},
    TakenTable{"counters", "",
               "ON CONFLICT DO UPDATE SET value = CASE WHEN name IN ('worst_stall_ps', 'slipped_ps', "
               "'pacing_slipped_ps') THEN max(value, excluded.value) ELSE value + excluded.value END"},
    TakenTable{"flows", "", kFlowSums},
    TakenTable{"flow_causes"},
    TakenTable{"flow_rdma"},
    TakenTable{"flow_arrivals", "",
               "ON CONFLICT DO UPDATE SET arrived = CASE WHEN arrived IS NULL THEN excluded.arrived "
               "ELSE arrived + coalesce(excluded.arrived, 0) END, "
               "unacknowledged = unacknowledged + excluded.unacknowledged"},
    TakenTable{"flow_answers", "",
               "ON CONFLICT DO UPDATE SET acks_tx = acks_tx + excluded.acks_tx, naks_tx = naks_tx + excluded.naks_tx, "
               "acks_rx = acks_rx + excluded.acks_rx"},
    TakenTable{"ports"},
    TakenTable{"port_pauses"},
    TakenTable{"port_drivers"},
    TakenTable{"port_rdma"},
    TakenTable{"port_settings"},
    TakenTable{"hardware_counters"},
    TakenTable{"failures"},
    TakenTable{"wrong_messages", "", "ON CONFLICT DO UPDATE SET messages = messages + excluded.messages"},
    TakenTable{"rate_sampling", "", "ON CONFLICT DO UPDATE SET rows_lost = rows_lost + excluded.rows_lost"},
    TakenTable{"port_rates", " time_ps "},
    TakenTable{"allowances", " time_ps "},
    // The machine that leads asks the devices.
    TakenTable{"devices", "", "", true},
    TakenTable{"device_counters", "", "", true},
    TakenTable{"device_samples", " time_ps ", "", true},
    TakenTable{"details"},
    TakenTable{"cores"},
};

/// Of all workers together.
constexpr TakenTable kTurns{"turns", "", "ON CONFLICT DO UPDATE SET count = count + excluded.count"};

constexpr std::string_view kRunOfPart = "(SELECT min(run) FROM part.runs)";

/// A column of run time, in SQL, as RecordPart corrects it.
std::string corrected(std::string_view column, const ClockCorrection& clock) {
  return fmt::format("{0} - {1} - CAST(round({2:.17g} * {0}) AS INTEGER)", column, clock.offset.ps, clock.drift);
}

std::vector<std::string> columns_of(const Database& database, const char* table) {
  std::vector<std::string> columns;
  Statement rows = database.prepare("SELECT name FROM pragma_table_info(?)");
  rows.bind(table);
  while (rows.step()) columns.push_back(fmt::format("\"{}\"", rows.text(0)));
  return columns;
}

void take_table(Database& database, uint32_t run, const TakenTable& taken, const ClockCorrection& clock,
                uint64_t first_worker) {
  std::string values;
  for (const std::string& column : columns_of(database, taken.table)) {
    const std::string name = column.substr(1, column.size() - 2);
    const bool is_time = taken.times.find(" " + name + " ") != taken.times.npos;
    values += values.empty() ? "" : ", ";
    if (name == "run")
      values += fmt::to_string(run);
    else if (name == "worker")
      values += fmt::format("{} + {}", column, first_worker);
    else
      values += is_time ? corrected(column, clock) : column;
  }
  // A rank that has not begun has no time that could be corrected.
  const char* const known = taken.times == " completion_ps " ? "AND completion_ps > 0" : "";
  database.execute(fmt::format("INSERT INTO {0} SELECT {1} FROM part.{0} WHERE run = {2} {3} {4}", taken.table, values,
                               kRunOfPart, known, taken.conflict));
}

Time time_of(const Statement& row, int column) {
  const std::optional<int64_t> ps = row.optional_integer(column);
  return ps ? Time(*ps) : Time::never();
}

/// What all halves of a message say.
JoinedMessage message_of(const Statement& row) {
  JoinedMessage m;
  const auto number = [&](int column) { return static_cast<uint64_t>(row.integer(column)); };
  m.id.job = number(0), m.id.group = number(1), m.id.sequence = number(2), m.id.iteration = number(3);
  m.id.source = number(4), m.id.destination = number(5), m.id.step = number(6), m.id.channel = number(7);
  m.id.slice = number(8), m.id.control = number(9);
  m.bytes = Bytes(row.integer(10));
  m.posted = time_of(row, 11), m.acked = time_of(row, 12), m.first_rx = time_of(row, 13);
  m.delivered = time_of(row, 14);
  m.retransmissions = static_cast<uint32_t>(row.integer(15)), m.marks = static_cast<uint32_t>(row.integer(16));
  m.failed = row.integer(17) != 0;
  return m;
}

void add_halves(MessageJoin& join, const JoinedMessage& m) {
  const MessageRecord half{.id = m.id, .bytes = m.bytes};
  if (m.posted != Time::never() || m.failed) {
    MessageRecord source = half;
    source.at_source = true, source.failed = m.failed, source.retransmissions = m.retransmissions;
    source.first = m.posted, source.last = m.acked;
    join.add(source);
  }
  if (m.delivered != Time::never()) {
    MessageRecord destination = half;
    destination.marks = m.marks, destination.first = m.first_rx, destination.last = m.delivered;
    join.add(destination);
  }
}

/// Of values whose buckets are known: the upper bound of that of rank ceil(share x count), as Histogram tells it.
int64_t quantile_of(const std::map<int64_t, int64_t>& buckets, int64_t count, double share, int64_t most) {
  const auto rank = std::max<int64_t>(1, std::llround(std::ceil(share * static_cast<double>(count))));
  int64_t seen = 0;
  for (const auto& [high, values] : buckets) {
    seen += values;
    if (seen >= rank) return std::min(high, most);
  }
  return most;
}

}  // namespace

void RunStore::take_parts(uint32_t run, std::span<const RecordPart> parts, const RecorderOptions& options) {
  commit();
  database_.execute("CREATE TEMP TABLE halves AS SELECT * FROM messages WHERE false");
  Statement insert = database_.prepare("INSERT INTO machines VALUES(?,?,?,?,?,?,?,?,?)");
  uint64_t workers = 0;
  for (size_t number = 0; number < parts.size(); ++number) {
    const RecordPart& part = parts[number];
    if (!part.file.empty()) {
      database_.prepare("ATTACH ? AS part").bind(part.file.string()).execute();
      open();
      take_rows(run, part, number == 0, workers);
      workers += static_cast<uint64_t>(database_.integer(
          fmt::format("SELECT coalesce((SELECT shards FROM part.runs WHERE run = {}), 0)", kRunOfPart)));
      commit();
      database_.execute("DETACH part");
    }
    open();
    insert
        .bind(run, uint64_t{number}, part.machine, part.verdict, part.reason, int{!part.file.empty()},
              part.clock.offset, static_cast<int64_t>(std::llround(part.clock.drift * 1e9)), part.clock.error)
        .execute();
  }
  join_messages(run, options);
  join_latencies(run);
  database_.execute(fmt::format(
      "CREATE TEMP TABLE sums AS SELECT name, sum(value) AS value FROM details WHERE run = {0} GROUP BY name "
      "ORDER BY min(rowid); DELETE FROM details WHERE run = {0}; "
      "INSERT INTO details SELECT {0}, name, value FROM sums; DROP TABLE sums;"
      "DELETE FROM flow_arrivals WHERE run = {0} AND arrived = (SELECT packets FROM flows f WHERE f.run = {0} AND "
      "f.connection = flow_arrivals.connection AND f.member = flow_arrivals.member);"
      "UPDATE runs SET completion_ps = (SELECT max(completion_ps) FROM rank_completion WHERE run = {0}), "
      "shards = max({1}, 1) WHERE run = {0};",
      run, workers));
  commit();
  database_.execute("DROP TABLE halves");
}

void RunStore::take_rows(uint32_t run, const RecordPart& part, bool leads, uint64_t first_worker) {
  for (const TakenTable& taken : kTaken)
    if (!taken.of_leader || leads) take_table(database_, run, taken, part.clock, first_worker);
  take_table(database_, run, kTurns, part.clock, 0);
  const int64_t first = database_.integer("SELECT coalesce(max(latency), 0) FROM latency");
  const auto at = [&](const char* column) { return corrected(column, part.clock); };
  database_.execute(fmt::format(
      "INSERT INTO temp.halves SELECT {0}, job, \"group\", sequence, iteration, source, destination, step, channel, "
      "slice, bytes, {1}, {2}, {3}, {4}, retransmissions, marks, failed, control FROM part.messages WHERE run = {5};"
      "INSERT INTO latency SELECT latency + {6}, {0}, port, kind, count, min_ps, mean_ps, p50_ps, p90_ps, p99_ps, "
      "p999_ps, max_ps, hardware_time, error_ps FROM part.latency WHERE run = {5} AND port IS NOT NULL;"
      "INSERT INTO latency_buckets SELECT b.latency + {6}, b.low_ps, b.high_ps, b.count FROM part.latency_buckets b "
      "JOIN part.latency l USING(latency) WHERE l.run = {5} AND l.port IS NOT NULL;"
      "UPDATE runs SET operations_dropped = operations_dropped + coalesce((SELECT operations_dropped FROM part.runs "
      "WHERE run = {5}), 0), messages_dropped = messages_dropped + coalesce((SELECT messages_dropped FROM part.runs "
      "WHERE run = {5}), 0) WHERE run = {0};",
      run, at("posted_ps"), at("acked_ps"), at("first_rx_ps"), at("delivered_ps"), kRunOfPart, first));
  Statement texts = database_.prepare("SELECT text FROM part.warnings WHERE text NOT IN (SELECT text FROM warnings)");
  std::vector<std::string> warnings;
  while (texts.step()) warnings.push_back(texts.text(0));
  for (const std::string& text : warnings)
    warning(run, leads ? text : fmt::format("machine '{}': {}", part.machine, text));
}

void RunStore::join_messages(uint32_t run, const RecorderOptions& options) {
  if (options.messages == MessageDetail::kNone) return;
  MessageJoin join({.kept = options.slowest, .pending = options.waiting_halves});
  Statement rows = database_.prepare(
      "SELECT job, \"group\", sequence, iteration, source, destination, step, channel, slice, control, max(bytes), "
      "max(posted_ps), max(acked_ps), max(first_rx_ps), max(delivered_ps), max(retransmissions), max(marks), "
      "max(failed) FROM temp.halves GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
  while (rows.step()) {
    const JoinedMessage joined = message_of(rows);
    add_halves(join, joined);
    if (options.messages == MessageDetail::kAll) message(run, joined);
  }
  MessageSummary summary = join.summary();
  if (options.messages == MessageDetail::kAll) summary.kept.clear();
  messages(run, summary);
  database_.prepare("UPDATE runs SET messages_unjoined=? WHERE run=?").bind(join.unjoined(), run).execute();
}

// Of all ports together, which no part can know.
void RunStore::join_latencies(uint32_t run) {
  for (const LatencyKind kind : {LatencyKind::kRoundTrip, LatencyKind::kOneWay}) {
    Statement ports = database_.prepare(
        "SELECT sum(count), min(min_ps), sum(1.0 * count * mean_ps) / sum(count), max(max_ps), min(hardware_time), "
        "max(error_ps) FROM latency WHERE run=? AND kind=? AND port IS NOT NULL");
    ports.bind(run, to_string(kind));
    if (!ports.step() || !ports.optional_integer(0)) continue;
    const int64_t count = ports.integer(0), most = ports.integer(3);
    Statement rows = database_.prepare(
        "SELECT low_ps, high_ps, sum(b.count) FROM latency_buckets b JOIN latency l USING(latency) "
        "WHERE l.run=? AND l.kind=? AND l.port IS NOT NULL GROUP BY low_ps, high_ps");
    rows.bind(run, to_string(kind));
    std::map<int64_t, int64_t> lows, counts;  // by upper bound
    while (rows.step()) lows[rows.integer(1)] = rows.integer(0), counts[rows.integer(1)] = rows.integer(2);
    const auto at = [&](double share) { return quantile_of(counts, count, share, most); };
    database_
        .prepare(
            "INSERT INTO latency(run, port, kind, count, min_ps, mean_ps, p50_ps, p90_ps, p99_ps, p999_ps, max_ps, "
            "hardware_time, error_ps) VALUES(?,NULL,?,?,?,?,?,?,?,?,?,?,?)")
        .bind(run, to_string(kind), count, ports.integer(1), static_cast<int64_t>(std::llround(ports.real(2))), at(0.5),
              at(0.9), at(0.99), at(0.999), most, ports.integer(4), ports.integer(5))
        .execute();
    const int64_t latency = database_.last_row();
    Statement insert = database_.prepare("INSERT INTO latency_buckets VALUES(?,?,?,?)");
    for (const auto& [high, values] : counts) insert.bind(latency, lows[high], high, values).execute();
  }
}

}  // namespace rankwire
