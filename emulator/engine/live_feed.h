// What a run in real time tells of itself while it goes on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/port_tally.h"
#include "base/units.h"
#include "emulator/engine/live_snapshot.h"
#include "emulator/engine/rank_progress.h"

namespace rankwire {

/// Counts of a worker since its run began, in the order of LiveFigures::counts.
enum class LiveCount : uint8_t {
  kOperations,  ///< executions of nodes that have ended
  kInFlight,    ///< communication operations that have begun and not ended
  kMessages,    ///< delivered
  kPacketsSent,
  kPacketsReceived,
  kBytesSent,  ///< frames without FCS, as kBytesReceived
  kBytesReceived,
  kRetransmitted,  ///< data packets sent again
  kTimeouts,
  kNaks,   ///< sequence-error NAKs received
  kMarks,  ///< packets received with ECN CE
  kCnpsSent,
  kCnpsReceived,
  kPausesReceived,  ///< PFC and PAUSE frames
  kNumber           ///< of counts
};

struct LiveJob {
  uint64_t bytes = 0;       ///< payload of delivered messages
  uint64_t iterations = 0;  ///< that all of its ranks have ended
};

/// An entry of the background.
struct LiveBackground {
  uint64_t posted = 0, delivered = 0, failed = 0;  ///< messages
  uint64_t bytes_posted = 0, bytes_delivered = 0;  ///< of their payload
  uint64_t packets_sent = 0, packets_arrived = 0;  ///< as FlowPackets, where they are counted
};

/// What one worker, or all together, have come to.
struct LiveFigures {
  Time now;  ///< run time, of several workers the latest
  std::array<uint64_t, static_cast<size_t>(LiveCount::kNumber)> counts{};
  std::vector<LiveJob> jobs;               ///< by JobId
  std::vector<PortTally> ports;            ///< by PortId
  std::vector<RankProgress> ranks;         ///< by RankId, as many as LiveFeed::ranks
  std::vector<LiveBackground> background;  ///< by entry, as many as LiveFeed::background

  uint64_t operator[](LiveCount count) const { return counts[static_cast<size_t>(count)]; }
  uint64_t& operator[](LiveCount count) { return counts[static_cast<size_t>(count)]; }
};

/// Who waits for whom, asked for by one thread and told by workers in theirs.
class WaitBoard {
 public:
  explicit WaitBoard(uint32_t workers) : lines_(workers) {}

  void ask() noexcept { asked_.fetch_add(1, std::memory_order_relaxed); }
  /// Grows with each question.
  uint32_t asked() const noexcept { return asked_.load(std::memory_order_relaxed); }
  void tell(uint32_t worker, std::vector<std::string> lines) {
    const std::lock_guard lock(mutex_);
    lines_[worker] = std::move(lines);
  }
  /// What all workers told last.
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const std::vector<std::string>& lines : lines_) all.insert(all.end(), lines.begin(), lines.end());
    return all;
  }

 private:
  std::atomic<uint32_t> asked_{0};
  mutable std::mutex mutex_;  // of lines_: taken when somebody has asked, and by who asks
  std::vector<std::vector<std::string>> lines_;
};

/// Made before the run, which it outlives. Names are constant; each snapshot is its worker's.
class LiveFeed {
 public:
  struct Job {
    std::string name;         ///< of a run with one workload the run's
    uint32_t iterations = 1;  ///< planned
  };

  struct Rank {
    std::string name;
    JobId job = JobId(0);
    uint64_t operations = 0;      ///< executions planned
    std::vector<uint32_t> nodes;  ///< by place in the trace: index in `node_names`; empty: they are not known
  };
  /// Of more ranks none is told of: publishing them would keep the loop.
  static constexpr size_t kMostRanks = 4096;

  struct Background {
    std::string name;
    bool counts_packets = false;  ///< of all of its flows both ends do
  };
  /// Of a background of more flows no entry is told of, for the same reason.
  static constexpr size_t kMostFlows = 1024;

  LiveFeed(std::string run, std::vector<std::string> port_names, std::vector<Job> planned, uint64_t all_operations,
           uint32_t workers, std::vector<Rank> all_ranks = {}, std::vector<std::string> names_of_nodes = {},
           std::vector<Background> entries = {});

  const std::string label;               ///< what the run is called
  const std::vector<std::string> ports;  ///< by PortId: their names
  const std::vector<Job> jobs;           ///< by JobId
  const uint64_t operations;             ///< executions planned
  const std::vector<Rank> ranks;         ///< by RankId; none where nothing is told of them
  const std::vector<std::string> node_names;
  const std::vector<Background> background;  ///< by entry; none where nothing is told of them
  WaitBoard waits;

  uint32_t workers() const noexcept { return static_cast<uint32_t>(snapshots_.size()); }
  LiveSnapshot& snapshot(uint32_t worker) noexcept { return snapshots_[worker]; }
  /// What a worker's transport counts by port; used by its thread alone.
  std::span<PortTally> tally(uint32_t worker) noexcept { return tallies_[worker]; }
  /// Any thread: the sum of what all workers have published.
  LiveFigures read() const;

  /// Words of a snapshot, and the figures of one.
  size_t words() const noexcept;
  void pack(const LiveFigures& figures, std::span<uint64_t> words) const noexcept;

 private:
  std::deque<LiveSnapshot> snapshots_;
  std::vector<std::vector<PortTally>> tallies_;
};

}  // namespace rankwire
