// Collectives as nccl-tests measures them: names, sizes and bandwidths.
// Source: nccl-tests, src/*.cu (Get...CollByteCount, Get...Bw) and doc/PERFORMANCE.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace rankwire {

enum class MeasuredCollective : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kAllToAllV,
  kGather,
  kScatter,
  kSendRecv,   ///< every rank sends to the next one and receives from the one before
  kHypercube,  ///< an all-gather of SENDs and RECVs with partners at distances 1, 2, 4, ...
};

struct MeasuredTraits {
  MeasuredCollective collective;
  const char* name;
  bool divided;  ///< its size is that of n equal parts, each a multiple of 16 B
  bool reduces;
  bool rooted;
};

std::span<const MeasuredTraits> measured_collectives();
const MeasuredTraits& traits_of(MeasuredCollective collective);
/// By its name, or nccl-tests' name of the program: "all_reduce", "alltoall", "all_reduce_perf".
std::optional<MeasuredCollective> find_measured(std::string_view name);

/// Data types of nccl-tests and their sizes.
struct MeasuredType {
  const char* name;
  Bytes element;
};
std::span<const MeasuredType> measured_types();
/// Bytes(0) where there is none of that name.
Bytes element_of(std::string_view type);
/// "sum", "prod", "max", "min", "avg".
std::span<const char* const> measured_reductions();

/// "rank0", "mean", "min", "max": of the ranks' times, each the mean over its iterations; in the order of the numbers
/// of nccl-tests' option -a.
std::span<const char* const> measured_averages();

/// What is measured at one size.
struct MeasuredSize {
  Bytes size;         ///< S of bandwidths: the whole of what n ranks have or get, else what one has
  int64_t count = 0;  ///< elements of the call: of a part where the size is divided
};

/// A series of calls.
struct MeasuredSeries {
  MeasuredCollective collective = MeasuredCollective::kAllReduce;
  uint32_t ranks = 2;
  Bytes smallest = Bytes(8), largest = Bytes(4 << 20);
  uint32_t factor = 2;  ///< from one size to the next
  Bytes step{};         ///< what the next size is more, in place of `factor`; 0: none
  Bytes element = Bytes(4);
  uint32_t spread = 1'000'000;  ///< kAllToAllV: 0: equal parts, 1,000,000: parts grow with the distance of ranks
};

/// What each size becomes, none twice: sizes that are divided are rounded down to parts of whole 16 B, as nccl-tests
/// does it, and those that leave nothing are left out.
std::vector<MeasuredSize> measured_sizes(const MeasuredSeries& series);
/// Of kAllToAllV: what a rank sends to the one that is `distance` ranks behind it, of `count` elements a part.
Bytes spread_part(const MeasuredSeries& series, int64_t count, uint32_t distance);
/// Payload that the rank that sends most has to send, at least.
Bytes least_sent(const MeasuredSeries& series, const MeasuredSize& size);

/// In GB/s (10^9 bytes a second).
struct MeasuredBandwidth {
  double algorithm = 0, bus = 0;
};
/// algbw = S / t, of kHypercube S (n - 1) / n / t; busbw = algbw x factor(n). `time` > 0.
MeasuredBandwidth measured_bandwidth(MeasuredCollective collective, uint32_t ranks, Bytes size, Duration time);

/// The name of a node of such a call, by which reports know it: "all_reduce size=1024 iteration 3".
std::string measured_name(MeasuredCollective collective, Bytes size, bool is_warm_up, uint32_t number);
/// What such a name says.
struct MeasuredCall {
  Bytes size;
  bool is_warm_up = false;
  uint32_t number = 0;
};
/// Nothing of other names.
std::optional<MeasuredCall> measured_call(std::string_view name);

}  // namespace rankwire
