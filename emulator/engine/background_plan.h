// Traffic without a trace that runs beside the jobs of a run, decided before the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/message.h"
#include "base/size_distribution.h"
#include "base/units.h"
#include "emulator/engine/plan.h"

namespace rankwire {

/// When one flow of an entry posts its messages.
enum class BackgroundArrivals : uint8_t {
  kEven,     ///< open loop: after a message the flow waits as long as that takes at its rate
  kPoisson,  ///< open loop: it waits for a random time, exponential with the mean of that of a message of mean size
  kClosed,   ///< as soon as fewer than `limit` messages are outstanding
};

/// Flows that are alike.
struct BackgroundEntry {
  std::string name;
  JobId job;  ///< of its connections; behind those of the jobs
  SizeDistribution sizes = SizeDistribution(Bytes(1));
  BackgroundArrivals arrivals = BackgroundArrivals::kEven;
  Bandwidth rate;             ///< open loop: payload of each flow, while it is on; > 0
  uint32_t limit = 1;         ///< messages of a flow that are posted and not yet acknowledged, at most; > 0
  Time start;                 ///< no message is due before
  Time stop = Time::never();  ///< none from here on
  Duration on, off;           ///< bursts from `start` on, on first; `off` 0: always on
};

/// From one end to another. Its connection is the plan's, behind those of the jobs.
struct BackgroundFlow {
  uint32_t entry = 0;
  ConnectionId connection;
};

struct BackgroundPlan {
  std::vector<BackgroundEntry> entries;
  std::vector<BackgroundFlow> flows;  ///< by connection, which follow each other
  std::vector<std::string> ends;      ///< what people call the ends, whose RankIds follow those of the workload
  RankId first_end;
  uint64_t seed = 0;

  bool empty() const { return flows.empty(); }
  bool has(ConnectionId connection) const { return !empty() && connection >= flows.front().connection; }
  /// Of the index-th message of a flow: both ends know it.
  Bytes bytes_of(uint32_t flow, uint32_t index) const noexcept;
  MessageId id_of(const Connection& connection, uint32_t index) const noexcept;
  /// Messages of all flows that are posted and not yet acknowledged, at most.
  uint64_t outstanding() const;
};

/// An entry with the ends of its flows.
struct BackgroundTold {
  BackgroundEntry entry;                             ///< `job` is left to `add_background`
  std::vector<std::pair<uint32_t, uint32_t>> pairs;  ///< places in `ends`
};

/// Adds ends as ranks without nodes, and the connections of all flows, to the plan. The placement has the ends behind
/// the ranks of the workload. `jobs` are those of the workload, at least 1. Throws Error(kInput) where a MessageId
/// cannot name a job, an end or a size.
BackgroundPlan add_background(Plan& plan, const Placement& placement, std::vector<BackgroundTold> told,
                              std::vector<std::string> ends, uint32_t jobs, uint64_t seed);

}  // namespace rankwire
