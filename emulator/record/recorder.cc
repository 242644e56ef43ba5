#include "emulator/record/recorder.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/record/ring_sink.h"
#include "emulator/record/run_store.h"
#include "emulator/record/schema.h"

namespace rankwire {
namespace {

constexpr size_t kBatch = 4096;
constexpr size_t kSamplesAtOnce = 4096;
constexpr std::chrono::milliseconds kPollInterval{2};
constexpr std::chrono::microseconds kTurnOfOthers{50};

/// A record of any version may be replaced, and what a run left that could write nothing.
void require_replaceable(const std::filesystem::path& file) {
  if (std::filesystem::is_regular_file(file) && std::filesystem::file_size(file) == 0) return;
  if (Database(file, Database::Access::kRead).integer("PRAGMA application_id") != kRecordApplicationId)
    fail_input("{}: not a run record", file.string());
}

std::filesystem::path fresh_file(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_run("{}: cannot make the run folder: {}", folder.string(), error.message());
  const std::filesystem::path file = folder / "run.sqlite";
  if (std::filesystem::exists(file)) {
    require_replaceable(file);
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(file.string() + suffix, error);
      if (error) fail_run("{}{}: cannot replace the record: {}", file.string(), suffix, error.message());
    }
  }
  return file;
}

}  // namespace

/// Everything of the recorder that the writer thread shares. `mutex_` guards all of it but the rings.
class RunRecorder::Writer {
 public:
  Writer(const std::filesystem::path& folder, const RecorderOptions& options)
      : options_(options), store_(fresh_file(folder)), operations_(kBatch), messages_(kBatch), causes_(kBatch) {
    thread_ = std::thread([this] { loop(); });
  }

  ~Writer() {
    {
      const auto lock = enter();
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  /// Writes beside the rings and commits.
  template <class Write>
  void store(Write write) {
    const auto lock = enter();
    rethrow();
    write(store_);
    store_.commit();
  }
  /// The same of an open run; `what` is written of it.
  template <class Write>
  void store_of(uint32_t run, const char* what, Write write) {
    const auto lock = enter();
    rethrow();
    open_run(run, what);
    write(store_);
    store_.commit();
  }

  uint32_t next_number() {
    const auto lock = enter();
    return ++runs_;
  }
  void begin(uint32_t number, const RunStart& start);
  bool has_begun() {
    const auto lock = enter();
    return !begun_.empty();
  }
  bool has_begun(uint32_t number) {
    const auto lock = enter();
    return begun_.contains(number);
  }
  bool is_open(uint32_t number) {
    const auto lock = enter();
    return open_.contains(number);
  }
  std::vector<uint32_t> open_runs() {
    const auto lock = enter();
    std::vector<uint32_t> numbers;
    for (const auto& [number, run] : open_) numbers.push_back(number);
    return numbers;
  }
  RingSink& sink(uint32_t number, uint32_t shard);
  void follow(uint32_t number, LiveMeasurements* live);
  void end(uint32_t number, const RunEnd& end);
  void flush();

 private:
  struct OpenRun {
    std::vector<std::unique_ptr<RingSink>> sinks;
    MessageJoin join;
    LiveMeasurements* live = nullptr;  ///< may be null
    std::chrono::steady_clock::time_point listened;
    bool ending = false;   ///< nobody pushes any more
    bool drained = false;  ///< and what was pushed is written
  };

  /// The mutex for all threads but the writer's.
  std::unique_lock<std::mutex> enter() {
    ++waiting_;
    std::unique_lock lock(mutex_);
    --waiting_;
    return lock;
  }
  OpenRun& open_run(uint32_t number, const char* what) {
    const auto run = open_.find(number);
    if (run == open_.end()) fail_run("run record: {} of no open run", what);
    return run->second;
  }

  void loop() noexcept;
  bool drain_batch(uint32_t number, OpenRun& run, RingSink& sink);
  bool drain();
  void drain_all();
  void commit_when_due();
  bool listen();
  bool listen_to(uint32_t number, OpenRun& run);
  void write_kept_messages(uint32_t number, const OpenRun& run);
  void give_up() noexcept;
  static RecordLoss loss(const OpenRun& run);
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  const RecorderOptions options_;
  RunStore store_;
  std::vector<OperationRecord> operations_;
  std::vector<MessageRecord> messages_;
  std::vector<CauseRecord> causes_;
  uint32_t runs_ = 0;                 ///< that have a number, from 1 on
  std::set<uint32_t> begun_;          ///< their numbers
  std::map<uint32_t, OpenRun> open_;  ///< by number
  std::chrono::steady_clock::time_point opened_;

  std::mutex mutex_;
  std::atomic<uint32_t> waiting_{0};  ///< threads for `mutex_`
  std::condition_variable wake_, flushed_;
  uint64_t flush_wanted_ = 0, flush_done_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

void RunRecorder::Writer::loop() noexcept {
  std::unique_lock lock(mutex_);
  try {
    while (!stopping_) {
      const bool drained = drain();
      const bool moved = listen() || drained;
      if (flush_wanted_ != flush_done_) {
        const uint64_t wanted = flush_wanted_;
        drain_all();
        store_.commit();
        flush_done_ = wanted;
        flushed_.notify_all();
      }
      commit_when_due();
      if (moved) {
        // Whoever waits for the mutex gets it between batches. While other runs push, this thread would have it again
        // before who waits has woken up.
        lock.unlock();
        std::this_thread::yield();
        while (waiting_.load() > 0) std::this_thread::sleep_for(kTurnOfOthers);
        lock.lock();
      } else if (!stopping_) {
        wake_.wait_for(lock, kPollInterval);
      }
    }
    drain_all();
    for (const auto& [number, run] : open_) write_kept_messages(number, run);
    store_.finish();
  } catch (...) {
    give_up();
  }
}

bool RunRecorder::Writer::drain_batch(uint32_t number, OpenRun& run, RingSink& sink) {
  const size_t operations = sink.pop(std::span(operations_));
  const size_t messages = sink.pop(std::span(messages_));
  const size_t causes = sink.pop(std::span(causes_));
  if (operations + messages + causes == 0) return false;
  if (!store_.uncommitted()) opened_ = std::chrono::steady_clock::now();
  store_.operations(number, std::span(operations_).first(operations));
  store_.operation_causes(number, std::span(causes_).first(causes));
  for (const MessageRecord& half : std::span(messages_).first(messages)) {
    const JoinedMessage* message = run.join.add(half);
    if (message != nullptr && options_.messages == MessageDetail::kAll) store_.message(number, *message);
  }
  return true;
}

/// A batch of each sink.
bool RunRecorder::Writer::drain() {
  bool moved = false;
  for (auto& [number, run] : open_) {
    bool of_run = false;
    for (const auto& sink : run.sinks) of_run = drain_batch(number, run, *sink) || of_run;
    moved = moved || of_run;
    if (!run.ending || run.drained || of_run) continue;
    run.drained = true;
    flushed_.notify_all();
  }
  return moved;
}

// At most as many batches as the rings hold, whose size is rounded up to a power of two: producers at work cannot keep
// it here.
void RunRecorder::Writer::drain_all() {
  for (size_t batch = 0; batch <= 2 * options_.ring / kBatch + 1; ++batch) {
    if (!drain()) return;
  }
}

void RunRecorder::Writer::commit_when_due() {
  if (!store_.uncommitted()) return;
  if (std::chrono::steady_clock::now() - opened_ >= options_.commit_interval) store_.commit();
}

bool RunRecorder::Writer::listen() {
  bool more = false;
  for (auto& [number, run] : open_) more = listen_to(number, run) || more;
  return more;
}

/// Asks what is measured in memory, when it is time to; whether there may be more to hear at once.
bool RunRecorder::Writer::listen_to(uint32_t number, OpenRun& run) {
  if (run.live == nullptr) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - run.listened < options_.commit_interval) return false;
  if (const std::optional<QueueUpdate> update = run.live->queue_update(kSamplesAtOnce)) {
    if (!store_.uncommitted()) opened_ = now;
    store_.queue_update(number, *update);
    if (update->rows.size() == kSamplesAtOnce) return true;
  }
  if (const std::vector<StormUpdate> storms = run.live->storm_update(); !storms.empty()) {
    if (!store_.uncommitted()) opened_ = now;
    store_.storm_update(number, storms);
  }
  run.live->save_captured();
  run.listened = now;
  return false;
}

/// Of a run that has ended nothing is asked any more.
void RunRecorder::Writer::follow(uint32_t number, LiveMeasurements* live) {
  const auto lock = enter();
  const auto run = open_.find(number);
  if (run == open_.end()) return;
  run->second.live = live;
  run->second.listened = std::chrono::steady_clock::now();
}

void RunRecorder::Writer::write_kept_messages(uint32_t number, const OpenRun& run) {
  MessageSummary summary = run.join.summary();
  if (options_.messages == MessageDetail::kAll) summary.kept = run.join.remaining();
  store_.messages(number, summary);
}

void RunRecorder::Writer::give_up() noexcept {
  error_ = std::current_exception();
  for (const auto& [number, run] : open_)
    for (const auto& sink : run.sinks) sink->close();
  flushed_.notify_all();
}

void RunRecorder::Writer::begin(uint32_t number, const RunStart& start) {
  const auto lock = enter();
  rethrow();
  if (begun_.contains(number)) fail_run("run record: a run begins twice");
  if (start.clock != "real" && start.clock != "virtual") fail_run("run record: unknown clock '{}'", start.clock);
  if (start.shards == 0) fail_run("run record: a run without shards");
  store_.begin(number, start);
  store_.commit();
  begun_.insert(number);
  const RingSink::Options ring{.operations = options_.ring,
                               .messages = options_.messages == MessageDetail::kNone ? 0 : options_.ring,
                               .causes = options_.causes ? options_.ring : 0,
                               .when_full = start.clock == "real" ? WhenFull::kDrop : WhenFull::kWait};
  std::vector<std::unique_ptr<RingSink>> sinks;
  for (uint32_t shard = 0; shard < start.shards; ++shard) sinks.push_back(std::make_unique<RingSink>(ring));
  open_.try_emplace(number, OpenRun{.sinks = std::move(sinks),
                                    .join = MessageJoin(MessageJoin::Limits{.kept = options_.slowest}),
                                    .listened = {}});
}

RingSink& RunRecorder::Writer::sink(uint32_t number, uint32_t shard) {
  const auto lock = enter();
  const OpenRun& run = open_run(number, "a sink");
  if (shard >= run.sinks.size()) fail_run("run record: shard {} of {}", shard, run.sinks.size());
  return *run.sinks[shard];
}

RecordLoss RunRecorder::Writer::loss(const OpenRun& run) {
  RecordLoss loss;
  for (const auto& sink : run.sinks) {
    loss.operations += sink->operations_dropped();
    loss.messages += sink->messages_dropped();
  }
  loss.unjoined = run.join.unjoined();
  return loss;
}

void RunRecorder::Writer::end(uint32_t number, const RunEnd& end) {
  if (end.verdict != "ok" && end.verdict != "failed" && end.verdict != "stalled" && end.verdict != "interrupted") {
    fail_run("run record: unknown verdict '{}'", end.verdict);
  }
  auto lock = enter();
  rethrow();
  OpenRun& run = open_run(number, "the end");
  run.ending = true;
  wake_.notify_all();
  flushed_.wait(lock, [&] { return run.drained || error_; });
  rethrow();
  write_kept_messages(number, run);
  store_.end(number, end, loss(run));
  store_.commit();
  open_.erase(number);
}

void RunRecorder::Writer::flush() {
  auto lock = enter();
  const uint64_t wanted = ++flush_wanted_;
  wake_.notify_all();
  flushed_.wait(lock, [&] { return flush_done_ >= wanted || error_; });
  rethrow();
}

RecordSink& RunRecorder::Run::begin(const RunStart& start) {
  writer_->begin(number_, start);
  return sink();
}

RecordSink& RunRecorder::Run::sink(uint32_t shard) const {
  return writer_->sink(number_, shard);
}

void RunRecorder::Run::warning(const std::string& text) {
  writer_->store([&](RunStore& store) { store.warning(number_, text); });
}

void RunRecorder::Run::flows(std::span<const FlowRow> flows) {
  writer_->store_of(number_, "flows", [&](RunStore& store) { store.flows(number_, flows); });
}

void RunRecorder::Run::messages(const MessageSummary& summary) {
  writer_->store_of(number_, "messages", [&](RunStore& store) { store.messages(number_, summary); });
}

void RunRecorder::Run::end(const RunEnd& end) {
  writer_->end(number_, end);
}

void RunRecorder::Run::fail(const std::optional<RunStart>& start, const std::string& reason) {
  if (start && !writer_->has_begun(number_)) begin(*start);
  if (writer_->is_open(number_)) end({.verdict = "failed", .reason = reason});
}

RunRecorder::RunRecorder(const std::filesystem::path& folder, const RecorderOptions& options)
    : writer_(std::make_unique<Writer>(folder, options)) {}

RunRecorder::~RunRecorder() = default;

void RunRecorder::configuration(const std::string& config, const std::string& version,
                                const std::map<std::string, std::string>& dut) {
  writer_->store([&](RunStore& store) { store.configuration(config, version, dut); });
}

void RunRecorder::jobs(std::span<const JobInfo> jobs) {
  writer_->store([&](RunStore& store) { store.jobs(jobs); });
}

void RunRecorder::jobs_alone(std::span<const JobAlone> jobs) {
  writer_->store([&](RunStore& store) { store.jobs_alone(jobs); });
}

void RunRecorder::ensemble(std::span<const Duration> completions) {
  writer_->store([&](RunStore& store) { store.ensemble(completions); });
}

void RunRecorder::ensemble_turns(Duration completion) {
  writer_->store([&](RunStore& store) { store.ensemble_turns(completion); });
}

void RunRecorder::ensemble_operations(std::span<const EnsembleOperation> rows) {
  writer_->store([&](RunStore& store) { store.ensemble_operations(rows); });
}

void RunRecorder::what_if(std::span<const WhatIfRow> rows) {
  writer_->store([&](RunStore& store) { store.what_if(rows); });
}

void RunRecorder::certificate(const Certificate& certificate) {
  writer_->store([&](RunStore& store) { store.certificate(certificate); });
}

void RunRecorder::limits(std::span<const LimitInfo> limits) {
  writer_->store([&](RunStore& store) { store.limits(limits); });
}

void RunRecorder::background(std::span<const BackgroundInfo> entries, RankId first_end,
                             std::span<const std::string> ends) {
  writer_->store([&](RunStore& store) { store.background(entries, first_end, ends); });
}

void RunRecorder::nodes(std::span<const NodeInfo> nodes) {
  writer_->store([&](RunStore& store) { store.nodes(nodes); });
}

void RunRecorder::warning(const std::string& text) {
  writer_->store([&](RunStore& store) { store.warning(RunStore::kNoRun, text); });
}

RunRecorder::Run RunRecorder::next_run() {
  return Run(*writer_, writer_->next_number());
}

RunRecorder::Run RunRecorder::begin(const RunStart& start) {
  Run run = next_run();
  run.begin(start);
  return run;
}

bool RunRecorder::has_begun() const {
  return writer_->has_begun();
}

void RunRecorder::fail(const std::string& reason) {
  writer_->store([&](RunStore& store) { store.failure(reason); });
  for (const uint32_t number : writer_->open_runs()) Run(*writer_, number).fail({}, reason);
}

RunRecorder::Following::Following(const Run& run, LiveMeasurements* live) : run_(run) {
  run_.writer_->follow(run_.number_, live);
}

RunRecorder::Following::~Following() {
  run_.writer_->follow(run_.number_, nullptr);
}

void RunRecorder::flush() {
  writer_->flush();
}

}  // namespace rankwire
