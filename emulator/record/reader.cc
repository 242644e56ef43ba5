#include "emulator/record/reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/transport_counters.h"
#include "emulator/record/columns.h"
#include "emulator/record/record_version.h"
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

/// Whether another process holds the folder's lock, as a run does that writes into it.
bool is_locked(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool locked = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(descriptor);
  return locked;
}

}  // namespace

void require_run_record(const std::filesystem::path& file) {
  const bool at_work = is_locked(file.parent_path());
  const char* beginning = "a run is about to begin in this folder and has recorded nothing yet";
  if (!std::filesystem::exists(file)) {
    if (at_work) fail_input("{}: {}", file.string(), beginning);
    fail_input("{}: no such file; a run folder holds run.sqlite", file.string());
  }
  const Database database(file, Database::Access::kRead);
  if (database.integer("PRAGMA application_id") != kRecordApplicationId) {
    if (at_work) fail_input("{}: {}", file.string(), beginning);
    if (std::filesystem::file_size(file) == 0)
      fail_input("{}: is empty; the run that made it could not write, perhaps to a full disk", file.string());
    fail_input("{}: not a run record", file.string());
  }
  require_known_version(database, file);
}

RunReader::RunReader(const std::filesystem::path& folder) : folder_(folder), database_(opened(folder / "run.sqlite")) {
  // One read transaction for the reader's life: everything drawn from it belongs together.
  // Operations are sorted, in memory as far as the cache goes.
  database_.execute("PRAGMA cache_size=-16384; BEGIN");
  read_record();
  read_jobs();
  read_background();
  read_runs();
  read_warnings();
}

void RunReader::read_record() {
  Statement record = database_.prepare("SELECT key, value FROM record");
  while (record.step()) {
    const std::string key = record.text(0);
    if (key == "config") config_ = record.text(1);
    if (key == "version") version_ = record.text(1);
    if (key == "created") created_ = record.text(1);
    if (key == "failure") failure_ = record.text(1);
    if (key == "interruption") interruption_ = record.text(1);
  }
  Statement dut = database_.prepare("SELECT key, value FROM dut");
  while (dut.step()) dut_[dut.text(0)] = dut.text(1);
}

std::vector<Duration> RunReader::ensemble() const {
  std::vector<Duration> completions;
  if (!has_table("ensemble")) return completions;
  Statement rows = database_.prepare("SELECT completion_ps FROM ensemble ORDER BY completion_ps");
  while (rows.step()) completions.push_back(duration(rows, 0));
  return completions;
}

std::vector<Duration> RunReader::ensemble_stretched() const {
  std::vector<Duration> completions;
  if (!has_table("ensemble_stretched")) return completions;
  Statement rows = database_.prepare("SELECT completion_ps FROM ensemble_stretched ORDER BY completion_ps");
  while (rows.step()) completions.push_back(duration(rows, 0));
  return completions;
}

std::vector<std::vector<Duration>> RunReader::ensemble_ranks() const {
  std::vector<std::vector<Duration>> ranks;
  if (!has_table("ensemble_ranks")) return ranks;
  Statement rows = database_.prepare("SELECT rank, completion_ps FROM ensemble_ranks ORDER BY rank, member");
  while (rows.step()) {
    const uint32_t rank = small(rows, 0);
    if (ranks.size() <= rank) ranks.resize(rank + 1);
    ranks[rank].push_back(duration(rows, 1));
  }
  return ranks;
}

std::vector<EnsembleOperation> RunReader::ensemble_operations() const {
  std::vector<EnsembleOperation> list;
  if (!has_table("ensemble_operations")) return list;
  Statement rows =
      database_.prepare("SELECT member, name, kind, \"group\", job, mean_ps FROM ensemble_operations ORDER BY rowid");
  while (rows.step())
    list.push_back({.member = small(rows, 0),
                    .name = rows.text(1),
                    .kind = rows.text(2),
                    .group = rows.text(3),
                    .job = JobId(small(rows, 4)),
                    .mean = duration(rows, 5)});
  return list;
}

std::vector<WhatIfRow> RunReader::what_if() const {
  std::vector<WhatIfRow> list;
  if (!has_table("what_if")) return list;
  Statement rows = database_.prepare("SELECT kind, name, completion_ps FROM what_if ORDER BY rowid");
  while (rows.step()) list.push_back({rows.text(0), rows.text(1), duration(rows, 2)});
  return list;
}

std::vector<LimitInfo> RunReader::limits() const {
  std::vector<LimitInfo> limits;
  if (!has_table("limits")) return limits;
  Statement rows = database_.prepare("SELECT name, value FROM limits ORDER BY rowid");
  while (rows.step()) limits.push_back({rows.text(0), rows.real(1)});
  return limits;
}

void RunReader::read_jobs() {
  if (!has_table("jobs")) return;
  Statement rows = database_.prepare(
      "SELECT job, name, first_rank, ranks, iterations, follows, start_ps, color FROM jobs ORDER BY job");
  while (rows.step()) {
    JobInfo& job = jobs_.emplace_back();
    job.job = JobId(small(rows, 0));
    job.name = rows.text(1);
    job.first_rank = small(rows, 2);
    job.ranks = small(rows, 3);
    job.iterations = small(rows, 4);
    if (const auto after = rows.optional_integer(5)) job.after = JobId(static_cast<uint32_t>(*after));
    job.start = duration(rows, 6);
    job.color = rows.text(7);
  }
  if (!has_table("jobs_alone")) return;
  Statement alone = database_.prepare(fmt::format("SELECT job, model, completion_ps, {} FROM jobs_alone ORDER BY job",
                                                  column_or(database_, "jobs_alone", "unharmed_ps", "NULL")));
  while (alone.step()) {
    JobAlone& job = alone_.emplace_back(JobAlone{JobId(small(alone, 0)), alone.text(1), duration(alone, 2), {}});
    if (const auto ps = alone.optional_integer(3)) job.unharmed = Duration(*ps);
  }
}

const JobAlone* RunReader::alone(JobId job) const {
  const auto found = std::ranges::find(alone_, job, &JobAlone::job);
  return found == alone_.end() ? nullptr : &*found;
}

void RunReader::read_runs() {
  Statement rows = database_.prepare(
      "SELECT run, fidelity, clock, ranks, shards, seed, verdict, reason, completion_ps, messages, bytes, bytes_wire, "
      "bytes_local, messages_lost, messages_duplicated, operations_dropped, messages_dropped, messages_unjoined "
      "FROM runs ORDER BY run");
  while (rows.step()) runs_.push_back(read_run(rows));
  take_repetitions();
  // Of several emulated runs or twins the last one counts.
  for (const RecordedRun& run : runs_) {
    if (run.start.fidelity == Fidelity::kReference || !run.start.model.empty()) models_.push_back(&run);
    if (run.start.fidelity == Fidelity::kTwin && emulated_ == nullptr) emulated_ = &run;
    if (run.start.fidelity == Fidelity::kEmulated) emulated_ = &run;
  }
  const auto first = std::ranges::find_if(models_, [&](const RecordedRun* run) { return run != emulated_; });
  if (first == models_.end()) return;
  reference_ = *first;
  if (reference_->start.model != kFlowModel) return;
  const auto is_median = [](const RecordedRun* run) {
    return run->start.model == kMedianOfFlow && run->end.verdict == "ok";
  };
  const auto median = std::ranges::find_if(models_, is_median);
  if (median != models_.end()) reference_ = *median;
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
    run.at_work = is_locked(folder_);
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
  if (has_table("job_spans")) {
    Statement spans = database_.prepare("SELECT begin_ps, end_ps FROM job_spans WHERE run=? ORDER BY job");
    spans.bind(run.run);
    const auto at = [](std::optional<int64_t> ps) { return ps ? std::optional(Time(*ps)) : std::nullopt; };
    while (spans.step()) end.jobs.push_back({at(spans.optional_integer(0)), at(spans.optional_integer(1))});
  }
  read_background_traffic(run);
  Statement cores = database_.prepare("SELECT busy FROM cores WHERE run=? ORDER BY worker");
  cores.bind(run.run);
  while (cores.step()) end.core_busy.push_back(cores.real(0));
  if (has_table("turns")) {
    Statement turns = database_.prepare("SELECT low_ps, high_ps, count FROM turns WHERE run=? ORDER BY low_ps");
    turns.bind(run.run);
    while (turns.step()) end.turns.push_back({Duration(turns.integer(0)), Duration(turns.integer(1)), count(turns, 2)});
  }
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
  if (run.at_work) {
    return fmt::format("the {} run is still at work; {} operations are recorded so far", to_string(run.start.fidelity),
                       rows.integer(0));
  }
  return fmt::format("the {} run has no end: its process was stopped, or could not write; {} operations are recorded",
                     to_string(run.start.fidelity), rows.integer(0));
}

}  // namespace rankwire
