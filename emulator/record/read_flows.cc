// RunReader's view of queue pairs: each, and by the ranks and jobs that they connect.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/record/columns.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

/// Beside the rows `f` of flows, those of their arrivals.
constexpr const char* kArrivals =
    "LEFT JOIN flow_arrivals a ON a.run=f.run AND a.connection=f.connection AND a.member=f.member";
/// Packets of a row of flows that are neither known to have arrived nor to be under way.
constexpr const char* kLostPackets =
    "CASE WHEN a.arrived IS NULL THEN 0 ELSE MAX(f.packets - a.unacknowledged - a.arrived, 0) END";

/// The background, which counts apart.
constexpr const char* kNoBackground = "AND f.job NOT IN (SELECT job FROM background)";

/// Overwrites in place, so that the name of the group keeps its memory from row to row.
void assign(RecordedFlow& row, const Statement& columns) {
  Connection& c = row.flow.connection;
  c.id = ConnectionId(small(columns, 0));
  c.job = JobId(small(columns, 1));
  const auto group = columns.optional_integer(2);
  c.group = group ? GroupId(static_cast<uint32_t>(*group)) : GroupId();
  assign(row.flow.group, columns, 3);
  c.source = RankId(small(columns, 4));
  c.destination = RankId(small(columns, 5));
  c.channel = static_cast<uint8_t>(columns.integer(6));
  c.path = columns.text_view(7) == to_string(Path::kWire) ? Path::kWire : Path::kLocal;
  c.control = columns.integer(8) != 0;
  row.flow.counters = {.connection = c.id,
                       .member = static_cast<uint16_t>(columns.integer(9)),
                       .source_qp = small(columns, 10),
                       .destination_qp = small(columns, 11),
                       .messages = count(columns, 12),
                       .bytes = count(columns, 13),
                       .packets = count(columns, 14),
                       .retransmitted = count(columns, 15),
                       .naks = count(columns, 16),
                       .rnr_naks = count(columns, 17),
                       .timeouts = count(columns, 18),
                       .marks = count(columns, 19)};
}

/// Steps to the row of a queue pair; false when it has none.
bool find(Statement& rows, const RecordedRun& run, const FlowCounters& flow) {
  rows.reset();
  rows.bind(run.run, flow.connection.value, uint32_t{flow.member});
  return rows.step();
}

std::optional<TimeByCause> causes_of(Statement& causes, const RecordedRun& run, const FlowCounters& flow) {
  if (!find(causes, run, flow)) return std::nullopt;
  return causes_at(causes, 0);
}

void read_ends(Statement& rows, const RecordedRun& run, FlowCounters& flow) {
  for (bool more = find(rows, run, flow); more; more = rows.step())
    add_counter(rows.integer(0) != 0 ? flow.source_end : flow.destination_end, rows.text_view(1), count(rows, 2));
}

void read_arrivals(Statement& rows, const RecordedRun& run, FlowCounters& flow) {
  if (flow.packets == 0) return;
  if (!find(rows, run, flow)) {
    flow.arrived = flow.packets;
    return;
  }
  const std::optional<int64_t> arrived = rows.optional_integer(0);
  if (arrived) flow.arrived = static_cast<uint64_t>(*arrived);
  flow.unacknowledged = count(rows, 1);
}

void read_answers(Statement& rows, const RecordedRun& run, FlowCounters& flow) {
  if (!find(rows, run, flow)) return;
  flow.answers = AnswerCounters{.acks_tx = count(rows, 0), .naks_tx = count(rows, 1), .acks_rx = count(rows, 2)};
}

}  // namespace

void RunReader::for_each_flow(const RecordedRun& run, const std::function<void(const RecordedFlow&)>& visit) const {
  Statement rows = database_.prepare(
      "SELECT connection, job, group_id, \"group\", source, destination, channel, path, control, member, source_qp, "
      "destination_qp, messages, bytes, packets, retransmitted, naks, rnr_naks, timeouts, marks FROM flows WHERE run=? "
      "ORDER BY connection, member");
  Statement latency = database_.prepare(
      "SELECT count, p50_ps, p95_ps, p99_ps, p999_ps, max_ps FROM message_latency WHERE run=? AND job=? AND "
      "\"group\"=? AND source=? AND destination=? AND channel=? AND control=?");
  rows.bind(run.run);
  std::optional<Statement> causes = has_table("flow_causes") ? std::optional(prepare_causes()) : std::nullopt;
  std::optional<Statement> rdma;
  if (has_table("flow_rdma"))
    rdma = database_.prepare("SELECT at_source, name, value FROM flow_rdma WHERE run=? AND connection=? AND member=?");
  std::optional<Statement> arrivals;
  if (has_table("flow_arrivals"))
    arrivals = database_.prepare(
        "SELECT arrived, unacknowledged FROM flow_arrivals WHERE run=? AND connection=? AND member=?");
  std::optional<Statement> answers;
  if (has_table("flow_answers"))
    answers = database_.prepare(
        "SELECT acks_tx, naks_tx, acks_rx FROM flow_answers WHERE run=? AND connection=? AND member=?");
  RecordedFlow row;
  ConnectionId looked_up;
  while (rows.step()) {
    assign(row, rows);
    const Connection& c = row.flow.connection;
    FlowCounters& counters = row.flow.counters;
    if (causes) counters.causes = causes_of(*causes, run, counters);
    if (rdma) read_ends(*rdma, run, counters);
    if (arrivals) read_arrivals(*arrivals, run, counters);
    if (answers) read_answers(*answers, run, counters);
    if (c.id != looked_up) {
      latency.reset();
      latency.bind(run.run, c.job.value, c.group.valid() ? uint64_t{c.group.value} : MessageId::kPointToPoint,
                   c.source.value, c.destination.value, uint32_t{c.channel}, int{c.control});
      row.latency = latency.step() ? std::optional(latency_at(latency, 0)) : std::nullopt;
      looked_up = c.id;
    }
    visit(row);
  }
}

void RunReader::for_each_pair(const RecordedRun& run, const std::function<void(const PairTraffic&)>& visit) const {
  // Without a row all packets of a queue pair arrived; in a record without the table nobody knows.
  const bool counted = has_table("flow_arrivals");
  Statement rows = database_.prepare(
      fmt::format("SELECT f.job, f.\"group\", f.source, f.destination, COUNT(*), SUM(f.packets), SUM(f.retransmitted), "
                  "SUM(f.naks), "
                  "SUM(f.rnr_naks), SUM(f.timeouts), SUM(f.marks), {}, {}, SUM(CASE WHEN f.control THEN 0 ELSE f.bytes "
                  "END) FROM flows f {} WHERE f.run=? AND f.path='wire' {} GROUP "
                  "BY f.job, f.\"group\", f.source, f.destination",
                  counted ? "SUM(CASE WHEN a.run IS NULL OR a.arrived IS NOT NULL THEN f.packets ELSE 0 END)" : "0",
                  counted ? fmt::format("SUM({})", kLostPackets) : "0", counted ? kArrivals : "",
                  has_table("background") ? kNoBackground : ""));
  rows.bind(run.run);
  PairTraffic row;
  while (rows.step()) {
    row.job = JobId(small(rows, 0));
    assign(row.group, rows, 1);
    row.source = RankId(small(rows, 2));
    row.destination = RankId(small(rows, 3));
    row.queue_pairs = count(rows, 4);
    row.packets = count(rows, 5);
    row.retransmitted = count(rows, 6);
    row.naks = count(rows, 7);
    row.rnr_naks = count(rows, 8);
    row.timeouts = count(rows, 9);
    row.marks = count(rows, 10);
    row.counted = count(rows, 11);
    row.lost = count(rows, 12);
    row.bytes = Bytes(rows.integer(13));
    visit(row);
  }
}

void RunReader::for_each_rank_pair(const RecordedRun& run,
                                   const std::function<void(const RankPairBytes&)>& visit) const {
  Statement rows = database_.prepare(
      fmt::format("SELECT f.source, f.destination, SUM(CASE WHEN f.path='wire' THEN f.bytes ELSE 0 END), SUM(f.bytes) "
                  "FROM flows f WHERE f.run=? AND f.control=0 {} GROUP BY f.source, f.destination HAVING "
                  "SUM(f.bytes)>0 ORDER BY f.source, f.destination",
                  has_table("background") ? kNoBackground : ""));
  rows.bind(run.run);
  while (rows.step()) {
    const Bytes wire(rows.integer(2));
    visit({.source = RankId(small(rows, 0)),
           .destination = RankId(small(rows, 1)),
           .wire = wire,
           .local = Bytes(rows.integer(3)) - wire});
  }
}

RunReader::WirePackets RunReader::wire_packets(const RecordedRun& run) const {
  const char* const jobs = has_table("background") ? kNoBackground : "";
  Statement packets = database_.prepare(
      fmt::format("SELECT COALESCE(SUM(packets), 0) FROM flows f WHERE f.run=? AND f.path='wire' {}", jobs));
  packets.bind(run.run);
  packets.step();
  WirePackets all{.packets = count(packets, 0)};
  if (!has_table("flow_arrivals")) return all;
  Statement lost = database_.prepare(fmt::format(
      "SELECT COALESCE(SUM({}), 0) FROM flows f {} WHERE f.run=? AND f.path='wire' {}", kLostPackets, kArrivals, jobs));
  lost.bind(run.run);
  lost.step();
  all.lost = count(lost, 0);
  return all;
}

void RunReader::for_each_flow_time(const RecordedRun& first, const RecordedRun& second,
                                   const std::function<void(const FlowTimes&)>& visit) const {
  Statement rows = database_.prepare(
      "SELECT a.job, a.source, a.destination, a.count, a.p50_ps, b.p50_ps FROM message_latency a JOIN message_latency "
      "b "
      "ON b.run=? AND b.job=a.job AND b.\"group\"=a.\"group\" AND b.source=a.source AND b.destination=a.destination "
      "AND b.channel=a.channel AND b.control=a.control WHERE a.run=? AND a.control=0");
  rows.bind(second.run, first.run);
  while (rows.step()) {
    visit({.job = JobId(small(rows, 0)),
           .source = RankId(small(rows, 1)),
           .destination = RankId(small(rows, 2)),
           .messages = count(rows, 3),
           .first = duration(rows, 4),
           .second = duration(rows, 5)});
  }
}

std::vector<GroupCauses> RunReader::causes_of_groups(const RecordedRun& run) const {
  if (!has_table("flow_causes")) return {};
  Statement rows = database_.prepare(
      fmt::format("SELECT {}, \"group\", job FROM flow_causes JOIN flows USING (run, connection, member) WHERE run=?",
                  kCauseColumns));
  rows.bind(run.run);
  std::map<std::pair<uint32_t, std::string>, GroupCauses> groups;
  while (rows.step()) {
    std::string name = rows.text(kCauses);
    const uint32_t job = small(rows, kCauses + 1);
    GroupCauses& of_group = groups[{job, name}];
    of_group.job = JobId(job);
    of_group.group = std::move(name);
    ++of_group.queue_pairs;
    of_group.causes += causes_at(rows, 0);
  }
  std::vector<GroupCauses> list;
  list.reserve(groups.size());
  for (auto& [name, of_group] : groups) list.push_back(std::move(of_group));
  return list;
}

std::vector<ConnectionCables> RunReader::connection_cables() const {
  std::vector<ConnectionCables> list;
  if (!has_table("connection_cables")) return list;
  Statement rows = database_.prepare(
      "SELECT connection, out, into_last, back_out, back_into_last FROM connection_cables ORDER BY connection");
  while (rows.step())
    list.push_back({ConnectionId(small(rows, 0)), rows.text(1), rows.text(2), rows.text(3), rows.text(4)});
  return list;
}

Statement RunReader::prepare_causes() const {
  return database_.prepare(
      fmt::format("SELECT {} FROM flow_causes WHERE run=? AND connection=? AND member=?", kCauseColumns));
}

}  // namespace rankwire
