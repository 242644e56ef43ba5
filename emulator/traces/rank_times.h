// How a rank spent its time: what it computed, what it communicated, and why it did nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/traces/timing.h"

namespace rankwire {

/// Why nothing was at work before an operation began, the first that holds.
enum class IdleCause : uint8_t {
  kHost,           ///< the host operation that launches it came later
  kCommunication,  ///< communication that it depends on ended later; it communicates itself, and others came later
  kStream,         ///< a computation of another stream that it depends on ended later
  kLaunch,         ///< none of these, and less than kLaunchGap
  kOther,
};
inline constexpr std::array kIdleCauses = {"host", "communication", "stream", "launch", "other"};
/// Holistic Trace Analysis takes as much for the launch of a kernel behind another one (consecutive_kernel_delay).
inline constexpr Duration kLaunchGap = nanoseconds(30);

struct IdleTimes {
  std::array<Duration, kIdleCauses.size()> by_cause;

  Duration& operator[](IdleCause cause) { return by_cause[static_cast<size_t>(cause)]; }
  Duration operator[](IdleCause cause) const { return by_cause[static_cast<size_t>(cause)]; }
  Duration sum() const;
  IdleTimes& operator+=(const IdleTimes& other);
};

/// One stream of the accelerator. Idle is what lies between its operations.
struct StreamTimes {
  int64_t stream = 0;
  uint64_t operations = 0;
  Duration busy;
  IdleTimes idle;
};

/// When an operation of communication could begin, as far as its own rank is concerned: where times are recorded, when
/// it began.
struct NodeArrival {
  uint32_t node = 0;  ///< index
  Time time;
};

/// Of the accelerator: kernels, copies and communication. Host operations count as computations where a rank has no
/// kernel. From `begin` to `end` a time is computation, exposed communication, copies alone, or idle.
struct RankTimes {
  Time begin, end;         ///< of its first and its last operation; both 0 when there is none
  Duration compute;        ///< at least one computation at work
  Duration communication;  ///< at least one collective, SEND or RECV at work
  Duration both;           ///< both at once
  Duration memory;         ///< copies and fills of memory, and nothing else
  IdleTimes idle;
  std::vector<StreamTimes> streams;  ///< those that nodes name, ascending

  Duration exposed() const { return communication - both; }
  Duration span() const { return end - begin; }
};

/// It copies or fills memory: nodes of that kind, and kernels that CUDA, HIP ("Memcpy HtoD") and MTIA ("dma_request")
/// call so.
bool moves_memory(const NodeFacts& node);

/// `recorded` says where spans are from. `arrivals`, of its communication in order of nodes, where it is not null.
RankTimes rank_times(const RankFacts& facts, std::span<const Span> spans, bool recorded,
                     std::vector<NodeArrival>* arrivals = nullptr);

}  // namespace rankwire
