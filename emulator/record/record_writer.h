// The thread that writes a record, and what it shares with those that are recorded.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "emulator/record/message_join.h"
#include "emulator/record/recorder.h"
#include "emulator/record/ring_sink.h"
#include "emulator/record/run_store.h"

namespace rankwire {

/// Everything of the recorder that the writer thread shares. `mutex_` guards all of it but the rings.
class RecordWriter {
 public:
  /// Makes the folder, and replaces the record that is in it. Throws Error(kInput) when the file is something else,
  /// Error(kRun) when it cannot be written.
  RecordWriter(const std::filesystem::path& folder, const RecorderOptions& options);
  /// Writes what is left.
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

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

  const RecorderOptions& options() const { return options_; }
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
  void follow(uint32_t number, std::vector<LiveMeasurements*> live);
  void end(uint32_t number, const RunEnd& end);
  void flush();

 private:
  struct OpenRun {
    std::vector<std::unique_ptr<RingSink>> sinks;
    MessageJoin join;
    std::vector<LiveMeasurements*> live;
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
  bool hear(uint32_t number, LiveMeasurements& live);
  void open_transaction();
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

}  // namespace rankwire
