#include "emulator/record/reader.h"

#include <algorithm>

#include "base/transport_counters.h"
#include "emulator/record/columns.h"
#include "emulator/record/read_messages.h"
#include "emulator/record/schema.h"

namespace rankwire {
namespace {

Database opened(const std::filesystem::path& file) {
  require_run_record(file);
  return Database(file, Database::Access::kRead);
}

Fidelity fidelity_of(const std::string& text) {
  for (const Fidelity fidelity : {Fidelity::kEmulated, Fidelity::kReference, Fidelity::kTwin}) {
    if (text == to_string(fidelity)) return fidelity;
  }
  fail_input("run record: unknown fidelity '{}'", text);
}

Time time_or_never(std::optional<int64_t> ps) {
  return ps ? Time(*ps) : Time::never();
}

}  // namespace

void require_run_record(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    fail_input("{}: no such file; a run folder holds run.sqlite", file.string());
  }
  const Database database(file, Database::Access::kRead);
  if (database.integer("PRAGMA application_id") != kRecordApplicationId) {
    fail_input("{}: not a run record", file.string());
  }
  const int64_t version = database.integer("PRAGMA user_version");
  if (version != kRecordVersion) {
    fail_input("{}: record version {}, but this program reads version {}", file.string(), version, kRecordVersion);
  }
}

RunReader::RunReader(const std::filesystem::path& folder) : folder_(folder), database_(opened(folder / "run.sqlite")) {
  // One read transaction for the reader's life: everything drawn from it belongs together.
  database_.execute("BEGIN");
  read_record();
  read_runs();
}

void RunReader::read_record() {
  Statement record = database_.prepare("SELECT key, value FROM record");
  while (record.step()) {
    const std::string key = record.text(0);
    if (key == "config") config_ = record.text(1);
    if (key == "version") version_ = record.text(1);
    if (key == "created") created_ = record.text(1);
  }
  Statement dut = database_.prepare("SELECT key, value FROM dut");
  while (dut.step()) dut_[dut.text(0)] = dut.text(1);
  Statement warnings = database_.prepare("SELECT text FROM warnings ORDER BY warning");
  while (warnings.step()) warnings_.push_back(warnings.text(0));
}

void RunReader::read_runs() {
  Statement rows = database_.prepare(
      "SELECT run, fidelity, clock, ranks, shards, seed, verdict, reason, completion_ps, messages, bytes, bytes_wire, "
      "bytes_local, messages_lost, messages_duplicated, operations_dropped, messages_dropped, messages_unjoined "
      "FROM runs ORDER BY run");
  while (rows.step()) runs_.push_back(read_run(rows));
  // Of several emulated runs or twins the last one counts.
  for (const RecordedRun& run : runs_) {
    if (run.start.fidelity == Fidelity::kReference || !run.start.model.empty()) models_.push_back(&run);
    if (run.start.fidelity == Fidelity::kTwin && emulated_ == nullptr) emulated_ = &run;
    if (run.start.fidelity == Fidelity::kEmulated) emulated_ = &run;
  }
  const auto first = std::ranges::find_if(models_, [&](const RecordedRun* run) { return run != emulated_; });
  if (first != models_.end()) reference_ = *first;
}

RecordedRun RunReader::read_run(const Statement& row) const {
  RecordedRun run;
  run.run = small(row, 0);
  run.start = {.fidelity = fidelity_of(row.text(1)),
               .clock = row.text(2),
               .ranks = small(row, 3),
               .seed = count(row, 5),
               .shards = small(row, 4),
               .model = read_model(run.run)};
  run.ended = row.optional_integer(8).has_value();
  if (run.ended) {
    read_end(run, row);
  } else {
    run.end.verdict = "interrupted";
    run.end.reason = interruption(run);
  }
  Statement latency = database_.prepare(
      "SELECT count, p50_ps, p95_ps, p99_ps, p999_ps, max_ps FROM message_latency WHERE run=? AND job IS NULL");
  latency.bind(run.run);
  if (latency.step()) run.latency = latency_at(latency, 0);
  return run;
}

std::string RunReader::read_model(uint32_t run) const {
  if (!has_table("models")) return {};
  Statement row = database_.prepare("SELECT model FROM models WHERE run=?");
  row.bind(run);
  return row.step() ? row.text(0) : std::string();
}

void RunReader::read_end(RecordedRun& run, const Statement& row) const {
  RunEnd& end = run.end;
  end.verdict = row.text(6);
  end.reason = row.text(7);
  end.completion = Duration(row.integer(8));
  end.messages = count(row, 9);
  end.bytes = Bytes(row.integer(10));
  end.bytes_wire = Bytes(row.integer(11));
  end.bytes_local = Bytes(row.integer(12));
  end.messages_lost = count(row, 13);
  end.messages_duplicated = count(row, 14);
  run.loss = {.operations = count(row, 15), .messages = count(row, 16), .unjoined = count(row, 17)};
  end.counters = read_counters(run.run);
  Statement ranks = database_.prepare("SELECT completion_ps FROM rank_completion WHERE run=? ORDER BY rank");
  ranks.bind(run.run);
  while (ranks.step()) end.per_rank.push_back(Duration(ranks.integer(0)));
  Statement cores = database_.prepare("SELECT busy FROM cores WHERE run=? ORDER BY worker");
  cores.bind(run.run);
  while (cores.step()) end.core_busy.push_back(cores.real(0));
  Statement details = database_.prepare("SELECT name, value FROM details WHERE run=? ORDER BY rowid");
  details.bind(run.run);
  while (details.step()) end.details.push_back({details.text(0), count(details, 1)});
}

TransportCounters RunReader::read_counters(uint32_t run) const {
  TransportCounters counters;
  Statement rows = database_.prepare("SELECT name, value FROM counters WHERE run=?");
  rows.bind(run);
  while (rows.step()) {
    const std::string name = rows.text(0);
    if (name == "worst_stall_ps") counters.worst_stall = Duration(rows.integer(1));
    if (name == "slipped_ps") counters.slipped = Duration(rows.integer(1));
    if (name == "pacing_slipped_ps") counters.pacing_slipped = Duration(rows.integer(1));
    for (const CounterField& counter : transport_counters()) {
      if (name == counter.name) counters.*counter.field = count(rows, 1);
    }
  }
  return counters;
}

std::string RunReader::interruption(const RecordedRun& run) const {
  Statement rows = database_.prepare("SELECT count(*) FROM operations WHERE run=?");
  rows.bind(run.run);
  rows.step();
  return fmt::format("the {} run has no end: its process was stopped, or is still at work; {} operations are recorded",
                     to_string(run.start.fidelity), rows.integer(0));
}

std::vector<JoinedMessage> RunReader::slowest_messages(const RecordedRun& run, uint32_t limit) const {
  Statement rows = database_.prepare(
      "SELECT job, \"group\", sequence, iteration, source, destination, step, channel, slice, bytes, posted_ps, "
      "acked_ps, first_rx_ps, delivered_ps, retransmissions, marks, control FROM messages WHERE run=? AND failed=0 AND "
      "posted_ps IS NOT NULL AND delivered_ps IS NOT NULL ORDER BY delivered_ps - posted_ps DESC, rowid LIMIT ?");
  rows.bind(run.run, limit);
  std::vector<JoinedMessage> messages;
  while (rows.step()) {
    JoinedMessage m;
    m.id.job = count(rows, 0);
    m.id.group = count(rows, 1);
    m.id.sequence = count(rows, 2);
    m.id.iteration = count(rows, 3);
    m.id.source = count(rows, 4);
    m.id.destination = count(rows, 5);
    m.id.step = count(rows, 6);
    m.id.channel = count(rows, 7);
    m.id.slice = count(rows, 8);
    m.bytes = Bytes(rows.integer(9));
    m.posted = time_or_never(rows.optional_integer(10));
    m.acked = time_or_never(rows.optional_integer(11));
    m.first_rx = time_or_never(rows.optional_integer(12));
    m.delivered = time_or_never(rows.optional_integer(13));
    m.retransmissions = small(rows, 14);
    m.marks = small(rows, 15);
    m.id.control = count(rows, 16);
    messages.push_back(m);
  }
  name_operations(database_, run, messages);
  return messages;
}

}  // namespace rankwire
