#include "emulator/record/recorder.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
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
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  /// Writes beside the rings and commits.
  template <class Write>
  void store(Write write) {
    const std::lock_guard lock(mutex_);
    rethrow();
    write(store_);
    store_.commit();
  }

  void begin(const RunStart& start);
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return !sinks_.empty();
  }
  bool has_begun() {
    const std::lock_guard lock(mutex_);
    return run_ != 0;
  }
  RingSink& sink(uint32_t shard);
  void follow(LiveMeasurements* live);
  void flows(std::span<const FlowRow> flows);
  void messages(const MessageSummary& summary);
  void end(const RunEnd& end);
  void flush();

 private:
  void loop() noexcept;
  bool drain_batch(RingSink& sink);
  bool drain();
  void drain_all();
  void commit_when_due();
  bool listen();
  void write_kept_messages();
  void give_up() noexcept;
  RecordLoss loss() const;
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  const RecorderOptions options_;
  RunStore store_;
  std::vector<OperationRecord> operations_;
  std::vector<MessageRecord> messages_;
  std::vector<CauseRecord> causes_;
  std::vector<std::unique_ptr<RingSink>> sinks_;
  std::unique_ptr<MessageJoin> join_;
  uint32_t run_ = 0;
  std::chrono::steady_clock::time_point opened_;
  LiveMeasurements* live_ = nullptr;  ///< of the open run; may be null
  std::chrono::steady_clock::time_point listened_;

  std::mutex mutex_;
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
        // Whoever waits for the mutex gets a chance between batches.
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
      } else if (!stopping_) {
        wake_.wait_for(lock, kPollInterval);
      }
    }
    drain_all();
    if (join_) write_kept_messages();
    store_.finish();
  } catch (...) {
    give_up();
  }
}

bool RunRecorder::Writer::drain_batch(RingSink& sink) {
  const size_t operations = sink.pop(std::span(operations_));
  const size_t messages = sink.pop(std::span(messages_));
  const size_t causes = sink.pop(std::span(causes_));
  if (operations + messages + causes == 0) return false;
  if (!store_.uncommitted()) opened_ = std::chrono::steady_clock::now();
  store_.operations(run_, std::span(operations_).first(operations));
  store_.operation_causes(run_, std::span(causes_).first(causes));
  for (const MessageRecord& half : std::span(messages_).first(messages)) {
    const JoinedMessage* message = join_->add(half);
    if (message != nullptr && options_.messages == MessageDetail::kAll) store_.message(run_, *message);
  }
  return true;
}

bool RunRecorder::Writer::drain() {
  bool moved = false;
  for (const auto& sink : sinks_) moved = drain_batch(*sink) || moved;
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

/// Asks what is measured in memory, when it is time to; whether there may be more to hear at once.
bool RunRecorder::Writer::listen() {
  if (live_ == nullptr) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - listened_ < options_.commit_interval) return false;
  if (const std::optional<QueueUpdate> update = live_->queue_update(kSamplesAtOnce)) {
    if (!store_.uncommitted()) opened_ = now;
    store_.queue_update(run_, *update);
    if (update->rows.size() == kSamplesAtOnce) return true;
  }
  if (const std::vector<StormUpdate> storms = live_->storm_update(); !storms.empty()) {
    if (!store_.uncommitted()) opened_ = now;
    store_.storm_update(run_, storms);
  }
  live_->save_captured();
  listened_ = now;
  return false;
}

void RunRecorder::Writer::follow(LiveMeasurements* live) {
  const std::lock_guard lock(mutex_);
  live_ = live;
  listened_ = std::chrono::steady_clock::now();
}

void RunRecorder::Writer::write_kept_messages() {
  MessageSummary summary = join_->summary();
  if (options_.messages == MessageDetail::kAll) summary.kept = join_->remaining();
  store_.messages(run_, summary);
}

void RunRecorder::Writer::give_up() noexcept {
  error_ = std::current_exception();
  for (const auto& sink : sinks_) sink->close();
  flushed_.notify_all();
}

void RunRecorder::Writer::begin(const RunStart& start) {
  const std::lock_guard lock(mutex_);
  rethrow();
  if (!sinks_.empty()) fail_run("run record: a run begins before the one before it has ended");
  if (start.clock != "real" && start.clock != "virtual") fail_run("run record: unknown clock '{}'", start.clock);
  if (start.shards == 0) fail_run("run record: a run without shards");
  run_ = store_.begin(start);
  store_.commit();
  join_ = std::make_unique<MessageJoin>(MessageJoin::Limits{.kept = options_.slowest});
  const RingSink::Options ring{.operations = options_.ring,
                               .messages = options_.messages == MessageDetail::kNone ? 0 : options_.ring,
                               .causes = options_.causes ? options_.ring : 0,
                               .when_full = start.clock == "real" ? WhenFull::kDrop : WhenFull::kWait};
  for (uint32_t shard = 0; shard < start.shards; ++shard) sinks_.push_back(std::make_unique<RingSink>(ring));
}

RingSink& RunRecorder::Writer::sink(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  if (shard >= sinks_.size()) fail_run("run record: shard {} of {}", shard, sinks_.size());
  return *sinks_[shard];
}

RecordLoss RunRecorder::Writer::loss() const {
  RecordLoss loss;
  for (const auto& sink : sinks_) {
    loss.operations += sink->operations_dropped();
    loss.messages += sink->messages_dropped();
  }
  loss.unjoined = join_->unjoined();
  return loss;
}

void RunRecorder::Writer::flows(std::span<const FlowRow> flows) {
  const std::lock_guard lock(mutex_);
  rethrow();
  if (sinks_.empty()) fail_run("run record: flows of no run");
  store_.flows(run_, flows);
  store_.commit();
}

void RunRecorder::Writer::messages(const MessageSummary& summary) {
  const std::lock_guard lock(mutex_);
  rethrow();
  if (sinks_.empty()) fail_run("run record: messages of no run");
  store_.messages(run_, summary);
  store_.commit();
}

void RunRecorder::Writer::end(const RunEnd& end) {
  if (end.verdict != "ok" && end.verdict != "failed" && end.verdict != "stalled" && end.verdict != "interrupted") {
    fail_run("run record: unknown verdict '{}'", end.verdict);
  }
  flush();
  const std::lock_guard lock(mutex_);
  rethrow();
  if (sinks_.empty()) fail_run("run record: no run is open");
  live_ = nullptr;
  write_kept_messages();
  store_.end(run_, end, loss());
  store_.commit();
  sinks_.clear();
  join_.reset();
}

void RunRecorder::Writer::flush() {
  std::unique_lock lock(mutex_);
  const uint64_t wanted = ++flush_wanted_;
  wake_.notify_all();
  flushed_.wait(lock, [&] { return flush_done_ >= wanted || error_; });
  rethrow();
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
  writer_->store([&](RunStore& store) { store.warning(text); });
}

RecordSink& RunRecorder::begin(const RunStart& start) {
  writer_->begin(start);
  return writer_->sink(0);
}

bool RunRecorder::has_begun() const {
  return writer_->has_begun();
}

RecordSink& RunRecorder::sink(uint32_t shard) {
  return writer_->sink(shard);
}

RunRecorder::Following::Following(RunRecorder& recorder, LiveMeasurements* live) : recorder_(recorder) {
  recorder_.writer_->follow(live);
}

RunRecorder::Following::~Following() {
  recorder_.writer_->follow(nullptr);
}

void RunRecorder::flows(std::span<const FlowRow> flows) {
  writer_->flows(flows);
}

void RunRecorder::messages(const MessageSummary& summary) {
  writer_->messages(summary);
}

void RunRecorder::end(const RunEnd& end) {
  writer_->end(end);
}

void RunRecorder::fail(const std::string& reason) {
  if (writer_->is_open()) writer_->end({.verdict = "failed", .reason = reason});
}

void RunRecorder::flush() {
  writer_->flush();
}

}  // namespace rankwire
