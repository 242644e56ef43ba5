#include "emulator/record/run_store.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/transport_counters.h"
#include "emulator/record/schema.h"

namespace rankwire {
namespace {

constexpr uintmax_t kLittle = 1 << 20;  // bytes that SQLite may have asked for at once, and more

Database created(const std::filesystem::path& file) {
  Database database(file, Database::Access::kCreate);
  // As long as there is nothing to lose, nobody waits for the disk.
  database.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=16384;");
  database.execute(fmt::format("BEGIN; PRAGMA application_id={}; PRAGMA user_version={}; {} COMMIT;",
                               kRecordApplicationId, kRecordVersion, kRecordSchema));
  // A commit in WAL mode survives the death of the process; NORMAL leaves the device's cache to the operating system.
  database.execute("PRAGMA synchronous=NORMAL");
  return database;
}

std::optional<int64_t> known(Time time) {
  return time == Time::never() ? std::nullopt : std::optional<int64_t>(time.ps);
}

std::optional<int64_t> known(const std::optional<uint32_t>& value) {
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

template <class Tag>
std::optional<int64_t> known(Id<Tag> id) {
  return id.valid() ? std::optional<int64_t>(id.value) : std::nullopt;
}

/// A row of `keys` and the time of each cause.
template <class... Keys>
void insert_causes(Statement& insert, const TimeByCause& t, const Keys&... keys) {
  insert
      .bind(keys..., t[Cause::kTransmitting], t[Cause::kWindow], t[Cause::kCongestionControl], t[Cause::kPaused],
            t[Cause::kReceiverNotReady], t[Cause::kRecovering], t[Cause::kPort], t[Cause::kAcknowledgement])
      .execute();
}

}  // namespace

const char* to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::kEmulated:
      return "emulated";
    case Fidelity::kReference:
      return "reference";
    case Fidelity::kTwin:
      return "twin";
  }
  return "";
}

const char* to_string(Path path) {
  return path == Path::kWire ? "wire" : "local";
}

RunStore::RunStore(const std::filesystem::path& file)
    : file_(file),
      database_(created(file)),
      insert_operation_(database_.prepare("INSERT INTO operations VALUES(?,?,?,?,?,?)")),
      insert_cause_(database_.prepare("INSERT INTO operation_causes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)")),
      insert_message_(database_.prepare("INSERT INTO messages VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")) {}

void RunStore::open() {
  if (open_) return;
  database_.execute("BEGIN");
  open_ = true;
}

void RunStore::commit() {
  if (!std::exchange(open_, false)) return;
  // SQLite ends a transaction by itself when the disk is full or fails, which was told then, but perhaps to somebody
  // who goes on.
  if (!database_.in_transaction()) {
    std::error_code unknown;
    const std::filesystem::space_info space = std::filesystem::space(file_, unknown);
    fail_run("{}: nothing since the last commit is kept, because writing it failed: {}", file_.string(),
             !unknown && space.available < kLittle ? std::strerror(ENOSPC) : std::strerror(EIO));
  }
  database_.execute("COMMIT");
}

void RunStore::finish() {
  commit();
  // Fails at once when somebody reads the record just now; then it keeps its log, and nothing is lost.
  database_.execute("PRAGMA busy_timeout=0; PRAGMA journal_mode=DELETE");
}

void RunStore::configuration(const std::string& json, const std::string& version,
                             const std::map<std::string, std::string>& dut) {
  open();
  Statement insert = database_.prepare("INSERT OR REPLACE INTO record VALUES(?,?)");
  insert.bind("config", json).execute();
  insert.bind("version", version).execute();
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  insert.bind("created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))).execute();
  Statement insert_dut = database_.prepare("INSERT OR REPLACE INTO dut VALUES(?,?)");
  for (const auto& [key, value] : dut) insert_dut.bind(key, value).execute();
}

void RunStore::failure(const std::string& reason) {
  open();
  database_.prepare("INSERT OR IGNORE INTO record VALUES(?,?)").bind("failure", reason).execute();
}

void RunStore::interruption(const std::string& reason) {
  open();
  database_.prepare("INSERT OR IGNORE INTO record VALUES(?,?)").bind("interruption", reason).execute();
}

void RunStore::nodes(std::span<const NodeInfo> nodes) {
  open();
  Statement insert = database_.prepare("INSERT INTO nodes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const NodeInfo& n : nodes) {
    insert
        .bind(n.rank.value, n.node, n.id, n.name, n.kind, n.group, n.group_size, n.bytes.count, n.recorded, n.job.value,
              n.timed_by, n.sequence, n.peer.valid() ? std::optional(int64_t{n.peer.value}) : std::nullopt, n.tag)
        .execute();
  }
}

void RunStore::warning(uint32_t run, const std::string& text) {
  open();
  const int64_t number = (int64_t{run} << 32) + ++warnings_[run];
  database_.prepare("INSERT INTO warnings VALUES(?,?)").bind(number, text).execute();
}

void RunStore::begin(uint32_t run, const RunStart& start) {
  open();
  database_.prepare("INSERT INTO runs(run, fidelity, clock, ranks, shards, seed) VALUES(?,?,?,?,?,?)")
      .bind(run, to_string(start.fidelity), start.clock, start.ranks, start.shards, start.seed)
      .execute();
  if (!start.model.empty()) {
    database_.prepare("INSERT INTO models(run, model) VALUES(?,?)").bind(run, start.model).execute();
  }
  if (const auto& [number, planned] = start.repetition; planned > 1)
    database_.prepare("INSERT INTO repetitions VALUES(?,?,?)").bind(run, number, planned).execute();
}

void RunStore::operations(uint32_t run, std::span<const OperationRecord> rows) {
  open();
  for (const OperationRecord& row : rows) {
    insert_operation_.bind(run, row.iteration, row.rank.value, row.node, row.start.ps, row.end.ps).execute();
  }
}

void RunStore::operation_causes(uint32_t run, std::span<const CauseRecord> rows) {
  open();
  for (const CauseRecord& row : rows)
    insert_causes(insert_cause_, row.causes, run, row.iteration, row.rank.value, row.node, row.connection.value);
}

void RunStore::message(uint32_t run, const JoinedMessage& m) {
  open();
  insert_message_
      .bind(run, uint64_t{m.id.job}, uint64_t{m.id.group}, uint64_t{m.id.sequence}, uint64_t{m.id.iteration},
            uint64_t{m.id.source}, uint64_t{m.id.destination}, uint64_t{m.id.step}, uint64_t{m.id.channel},
            uint64_t{m.id.slice}, m.bytes.count, known(m.posted), known(m.acked), known(m.first_rx), known(m.delivered),
            m.retransmissions, m.marks, int{m.failed}, uint64_t{m.id.control})
      .execute();
}

void RunStore::messages(uint32_t run, const MessageSummary& summary) {
  open();
  for (const JoinedMessage& kept : summary.kept) message(run, kept);
  Statement insert = database_.prepare("INSERT INTO message_latency VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  const auto add = [&](const std::optional<MessageFlow>& key, const MessageLatency& l) {
    const auto part = [&](auto field) { return key ? std::optional<uint32_t>((*key).*field) : std::nullopt; };
    insert
        .bind(run, part(&MessageFlow::job), part(&MessageFlow::group), part(&MessageFlow::source),
              part(&MessageFlow::destination), part(&MessageFlow::channel), part(&MessageFlow::control), l.count,
              l.p50.ps, l.p95.ps, l.p99.ps, l.p999.ps, l.max.ps)
        .execute();
  };
  if (summary.total.count != 0) add(std::nullopt, summary.total);
  for (const auto& [key, latency] : summary.flows) add(key, latency);
  Statement insert_bucket = database_.prepare("INSERT INTO message_buckets VALUES(?,?,?,?)");
  for (const Histogram::Bucket& b : summary.buckets) insert_bucket.bind(run, b.low, b.high, b.count).execute();
}

void RunStore::end(uint32_t run, const RunEnd& end, const RecordLoss& loss) {
  open();
  database_
      .prepare(
          "UPDATE runs SET verdict=?, reason=?, completion_ps=?, messages=?, bytes=?, bytes_wire=?, bytes_local=?, "
          "messages_lost=?, messages_duplicated=?, operations_dropped=?, messages_dropped=?, messages_unjoined=? "
          "WHERE run=?")
      .bind(end.verdict, end.reason, end.completion.ps, end.messages, end.bytes.count, end.bytes_wire.count,
            end.bytes_local.count, end.messages_lost, end.messages_duplicated, loss.operations, loss.messages,
            loss.unjoined, run)
      .execute();
  Statement insert_rank = database_.prepare("INSERT INTO rank_completion VALUES(?,?,?)");
  for (size_t rank = 0; rank < end.per_rank.size(); ++rank) {
    insert_rank.bind(run, uint64_t{rank}, end.per_rank[rank].ps).execute();
  }
  Statement insert_span = database_.prepare("INSERT INTO job_spans VALUES(?,?,?,?)");
  for (size_t job = 0; job < end.jobs.size(); ++job) {
    const auto at = [](const std::optional<Time>& time) { return time ? known(*time) : std::nullopt; };
    insert_span.bind(run, uint64_t{job}, at(end.jobs[job].begin), at(end.jobs[job].end)).execute();
  }
  Statement insert_core = database_.prepare("INSERT INTO cores VALUES(?,?,?)");
  for (size_t worker = 0; worker < end.core_busy.size(); ++worker) {
    insert_core.bind(run, uint64_t{worker}, end.core_busy[worker]).execute();
  }
  Statement insert_turns = database_.prepare("INSERT INTO turns VALUES(?,0,?,?,?)");
  for (const Histogram::Bucket& turns : end.turns)
    insert_turns.bind(run, turns.low.ps, turns.high.ps, turns.count).execute();
  counters(run, end);
  packet_latencies(run, end.latencies);
  flows(run, end.flows);
  rank_nics(run, end.rank_nics);
  ports(run, end.ports);
  port_rdma(run, end.ports);
  failures(run, end.failures);
  wrong_messages(run, end.wrong_messages);
  if (end.stall) stall(run, *end.stall);
  compute(run, end);
  hardware(run, end);
  impairments(run, end);
  if (end.queue_samples) queue_samples(run, *end.queue_samples);
  if (end.rates) rates(run, *end.rates);
  device_counters(run, end.device_counters);
  storms(run, end.storms);
  shared_links(run, end.shared_links);
  background_traffic(run, end.background);
  live_.erase(run);
}

void RunStore::counters(uint32_t run, const RunEnd& end) {
  const TransportCounters& counters = end.counters;
  Statement insert = database_.prepare("INSERT INTO counters VALUES(?,?,?)");
  for (const CounterField& counter : transport_counters()) {
    insert.bind(run, counter.name, counters.*counter.field).execute();
  }
  insert.bind(run, "worst_stall_ps", counters.worst_stall.ps).execute();
  insert.bind(run, "slipped_ps", counters.slipped.ps).execute();
  insert.bind(run, "pacing_slipped_ps", counters.pacing_slipped.ps).execute();
  Statement insert_detail = database_.prepare("INSERT INTO details VALUES(?,?,?)");
  for (const DetailRow& detail : end.details) insert_detail.bind(run, detail.name, detail.value).execute();
}

void RunStore::packet_latencies(uint32_t run, std::span<const LatencyRow> latencies) {
  Statement insert = database_.prepare(
      "INSERT INTO latency(run, port, kind, count, min_ps, mean_ps, p50_ps, p90_ps, p99_ps, p999_ps, max_ps, "
      "hardware_time, error_ps) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  Statement insert_bucket = database_.prepare("INSERT INTO latency_buckets VALUES(?,?,?,?)");
  for (const LatencyRow& l : latencies) {
    insert
        .bind(run, known(l.port), to_string(l.kind), l.count, l.min, l.mean, l.p50, l.p90, l.p99, l.p999, l.max,
              int{l.hardware_time}, l.error)
        .execute();
    const int64_t latency = database_.last_row();
    for (const Histogram::Bucket& b : l.buckets) insert_bucket.bind(latency, b.low, b.high, b.count).execute();
  }
}

void RunStore::flows(uint32_t run, std::span<const FlowRow> flows) {
  open();
  Statement insert = database_.prepare("INSERT INTO flows VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const FlowRow& flow : flows) {
    const Connection& c = flow.connection;
    const FlowCounters& n = flow.counters;
    insert
        .bind(run, c.id.value, c.job.value, known(c.group), flow.group, c.source.value, c.destination.value,
              uint32_t{c.channel}, to_string(c.path), int{c.control}, uint32_t{n.member}, n.source_qp, n.destination_qp,
              n.messages, n.bytes, n.packets, n.retransmitted, n.naks, n.rnr_naks, n.timeouts, n.marks)
        .execute();
  }
  flow_causes(run, flows);
  flow_rdma(run, flows);
  flow_arrivals(run, flows);
  flow_answers(run, flows);
}

void RunStore::flow_causes(uint32_t run, std::span<const FlowRow> flows) {
  Statement insert = database_.prepare("INSERT INTO flow_causes VALUES(?,?,?,?,?,?,?,?,?,?,?)");
  for (const FlowRow& flow : flows) {
    if (!flow.counters.causes) continue;
    insert_causes(insert, *flow.counters.causes, run, flow.connection.id.value, uint32_t{flow.counters.member});
  }
}

// What is 0 has no row.
void RunStore::flow_rdma(uint32_t run, std::span<const FlowRow> flows) {
  Statement insert = database_.prepare("INSERT INTO flow_rdma VALUES(?,?,?,?,?,?)");
  for (const RdmaCounterField& counter : rdma_counters()) {
    for (const FlowRow& flow : flows) {
      const FlowCounters& n = flow.counters;
      for (const int at_source : {0, 1}) {
        const uint64_t value = (at_source ? n.source_end : n.destination_end).*counter.field;
        if (value == 0) continue;
        insert.bind(run, flow.connection.id.value, uint32_t{n.member}, at_source, counter.name, value).execute();
      }
    }
  }
}

// Of a queue pair all of whose packets arrived there is no row. In a part of a record one of its ends may be missing.
void RunStore::flow_arrivals(uint32_t run, std::span<const FlowRow> flows) {
  Statement insert = database_.prepare("INSERT INTO flow_arrivals VALUES(?,?,?,?,?)");
  for (const FlowRow& flow : flows) {
    const FlowCounters& n = flow.counters;
    if (n.arrived ? *n.arrived == n.packets : n.packets == 0) continue;
    insert.bind(run, flow.connection.id.value, uint32_t{n.member}, n.arrived, n.unacknowledged).execute();
  }
}

void RunStore::flow_answers(uint32_t run, std::span<const FlowRow> flows) {
  Statement insert = database_.prepare("INSERT INTO flow_answers VALUES(?,?,?,?,?,?)");
  for (const FlowRow& flow : flows) {
    const std::optional<AnswerCounters>& n = flow.counters.answers;
    if (!n) continue;
    insert.bind(run, flow.connection.id.value, uint32_t{flow.counters.member}, n->acks_tx, n->naks_tx, n->acks_rx)
        .execute();
  }
}

void RunStore::rank_nics(uint32_t run, std::span<const RankNic> nics) {
  Statement insert = database_.prepare("INSERT INTO rank_nics VALUES(?,?,?,?,?,?)");
  Statement insert_host = database_.prepare("INSERT INTO rank_hosts VALUES(?,?,?)");
  for (size_t rank = 0; rank < nics.size(); ++rank) {
    const RankNic& nic = nics[rank];
    insert.bind(run, uint64_t{rank}, nic.nic.value, nic.port.value, nic.mac, nic.ip).execute();
    if (nic.host) insert_host.bind(run, uint64_t{rank}, *nic.host).execute();
  }
}

void RunStore::compute(uint32_t run, const RunEnd& end) {
  Statement insert_time = database_.prepare("INSERT INTO compute_times VALUES(?,?,?,?,?)");
  for (const ComputeTimeRow& row : end.compute_times)
    insert_time.bind(run, row.rank.value, row.model, row.nodes, row.time).execute();
  Statement insert_variation = database_.prepare("INSERT INTO compute_variation VALUES(?,?,?,?,?)");
  for (const ComputeVariationRow& row : end.compute_variation)
    insert_variation.bind(run, row.rank.value, row.jitter, row.noise, row.slowed).execute();
  Statement insert_straggler = database_.prepare("INSERT INTO stragglers VALUES(?,?,?,?,?)");
  for (const StragglerRow& row : end.stragglers) {
    const std::optional<int64_t> until = row.until ? known(*row.until) : std::nullopt;
    const auto factor = row.factor_ppm ? std::optional(static_cast<int64_t>(*row.factor_ppm)) : std::nullopt;
    insert_straggler.bind(run, row.rank.value, row.from.ps, until, factor).execute();
  }
}

void RunStore::hardware(uint32_t run, const RunEnd& end) {
  Statement insert_counter = database_.prepare("INSERT INTO hardware_counters VALUES(?,?,?,?,?)");
  for (const HardwareCounterRow& c : end.hardware_counters) {
    insert_counter.bind(run, c.port.value, c.name, c.before, c.after).execute();
  }
  Statement insert_setting = database_.prepare("INSERT INTO port_settings VALUES(?,?,?,?,?)");
  for (const PortSettingRow& s : end.port_settings) {
    insert_setting.bind(run, s.port.value, s.name, s.before, s.after).execute();
  }
}

void RunStore::impairments(uint32_t run, const RunEnd& end) {
  Statement insert = database_.prepare("INSERT INTO impairments VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const ImpairmentRow& row : end.impairments) {
    const Connection& c = row.connection;
    insert
        .bind(run, row.time.ps, row.rule, row.action, row.port.value, row.direction, known(c.id), known(c.source),
              known(c.destination), row.operation, row.message, known(row.packet), known(row.psn), row.opcode)
        .execute();
  }
  Statement insert_rule = database_.prepare("INSERT INTO impairment_rules VALUES(?,?,?,?,?)");
  for (const ImpairmentRuleRow& rule : end.impairment_rules) {
    insert_rule.bind(run, rule.rule, rule.action, rule.done, rule.not_done).execute();
  }
}

}  // namespace rankwire
