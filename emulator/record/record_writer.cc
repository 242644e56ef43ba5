#include "emulator/record/record_writer.h"

#include <algorithm>
#include <utility>

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

RecordWriter::RecordWriter(const std::filesystem::path& folder, const RecorderOptions& options)
    : options_(options), store_(fresh_file(folder)), operations_(kBatch), messages_(kBatch), causes_(kBatch) {
  thread_ = std::thread([this] { loop(); });
}

RecordWriter::~RecordWriter() {
  {
    const auto lock = enter();
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void RecordWriter::loop() noexcept {
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

bool RecordWriter::drain_batch(uint32_t number, OpenRun& run, RingSink& sink) {
  const size_t operations = sink.pop(std::span(operations_));
  const size_t messages = sink.pop(std::span(messages_));
  const size_t causes = sink.pop(std::span(causes_));
  if (operations + messages + causes == 0) return false;
  open_transaction();
  store_.operations(number, std::span(operations_).first(operations));
  store_.operation_causes(number, std::span(causes_).first(causes));
  for (const MessageRecord& half : std::span(messages_).first(messages)) {
    const JoinedMessage* message = run.join.add(half);
    if (message != nullptr && options_.messages == MessageDetail::kAll) store_.message(number, *message);
  }
  return true;
}

/// A batch of each sink.
bool RecordWriter::drain() {
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
void RecordWriter::drain_all() {
  for (size_t batch = 0; batch <= 2 * options_.ring / kBatch + 1; ++batch) {
    if (!drain()) return;
  }
}

void RecordWriter::commit_when_due() {
  if (!store_.uncommitted()) return;
  if (std::chrono::steady_clock::now() - opened_ >= options_.commit_interval) store_.commit();
}

bool RecordWriter::listen() {
  bool more = false;
  for (auto& [number, run] : open_) more = listen_to(number, run) || more;
  return more;
}

/// Asks what is measured in memory, when it is time to; whether there may be more to hear at once.
bool RecordWriter::listen_to(uint32_t number, OpenRun& run) {
  if (run.live.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - run.listened < options_.commit_interval) return false;
  bool more = false;
  for (LiveMeasurements* live : run.live) more = hear(number, *live) || more;
  if (!more) run.listened = now;
  return more;
}

bool RecordWriter::hear(uint32_t number, LiveMeasurements& live) {
  bool more = false;
  if (const std::optional<QueueUpdate> update = live.queue_update(kSamplesAtOnce)) {
    open_transaction();
    store_.queue_update(number, *update);
    more = update->rows.size() == kSamplesAtOnce;
  }
  if (const std::optional<RateUpdate> update = live.rate_update(kSamplesAtOnce)) {
    open_transaction();
    store_.rate_update(number, *update);
    more = more || std::max(update->rates.ports.size(), update->rates.allowances.size()) >= kSamplesAtOnce;
  }
  if (const std::vector<StormUpdate> storms = live.storm_update(); !storms.empty()) {
    open_transaction();
    store_.storm_update(number, storms);
  }
  if (const std::optional<DeviceCounters> counters = live.device_update()) {
    open_transaction();
    store_.device_counters(number, *counters);
  }
  live.save_captured();
  return more;
}

/// Before something is written into it.
void RecordWriter::open_transaction() {
  if (!store_.uncommitted()) opened_ = std::chrono::steady_clock::now();
}

/// Of a run that has ended nothing is asked any more.
void RecordWriter::follow(uint32_t number, std::vector<LiveMeasurements*> live) {
  const auto lock = enter();
  const auto run = open_.find(number);
  if (run == open_.end()) return;
  run->second.live = std::move(live);
  run->second.listened = std::chrono::steady_clock::now();
}

void RecordWriter::write_kept_messages(uint32_t number, const OpenRun& run) {
  MessageSummary summary = run.join.summary();
  if (options_.messages == MessageDetail::kAll) summary.kept = run.join.remaining();
  store_.messages(number, summary);
}

void RecordWriter::give_up() noexcept {
  error_ = std::current_exception();
  for (const auto& [number, run] : open_)
    for (const auto& sink : run.sinks) sink->close();
  flushed_.notify_all();
}

void RecordWriter::begin(uint32_t number, const RunStart& start) {
  const auto lock = enter();
  rethrow();
  if (begun_.contains(number)) fail_run("run record: a run begins twice");
  if (start.clock != "real" && start.clock != "virtual") fail_run("run record: unknown clock '{}'", start.clock);
  if (start.shards == 0) fail_run("run record: a run without shards");
  store_.begin(number, start);
  store_.commit();
  begun_.insert(number);
  const size_t rows = rows_of_sink(options_, start);
  const RingSink::Options ring{.operations = options_.operations ? rows : 0,
                               .messages = options_.messages == MessageDetail::kNone ? 0 : rows,
                               .causes = options_.causes ? rows : 0,
                               .when_full = start.clock == "real" ? WhenFull::kDrop : WhenFull::kWait};
  std::vector<std::unique_ptr<RingSink>> sinks;
  for (uint32_t shard = 0; shard < start.shards; ++shard) sinks.push_back(std::make_unique<RingSink>(ring));
  open_.try_emplace(number, OpenRun{.sinks = std::move(sinks),
                                    .join = MessageJoin({.kept = options_.slowest, .pending = options_.waiting_halves}),
                                    .listened = {}});
}

RingSink& RecordWriter::sink(uint32_t number, uint32_t shard) {
  const auto lock = enter();
  const OpenRun& run = open_run(number, "a sink");
  if (shard >= run.sinks.size()) fail_run("run record: shard {} of {}", shard, run.sinks.size());
  return *run.sinks[shard];
}

RecordLoss RecordWriter::loss(const OpenRun& run) {
  RecordLoss loss;
  for (const auto& sink : run.sinks) {
    loss.operations += sink->operations_dropped();
    loss.messages += sink->messages_dropped();
  }
  loss.unjoined = run.join.unjoined();
  return loss;
}

void RecordWriter::end(uint32_t number, const RunEnd& end) {
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

void RecordWriter::flush() {
  auto lock = enter();
  const uint64_t wanted = ++flush_wanted_;
  wake_.notify_all();
  flushed_.wait(lock, [&] { return flush_done_ >= wanted || error_; });
  rethrow();
}

}  // namespace rankwire
