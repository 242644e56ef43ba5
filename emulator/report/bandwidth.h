// Algorithm and bus bandwidth of one operation, as nccl-tests defines them.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// In Gbit/s (10^9 bit/s). Source: nccl-tests, doc/PERFORMANCE.md: algbw = S / t, busbw = algbw x factor(n).
struct OperationBandwidth {
  double algorithm = 0;
  double bus = 0;
};

/// S of nccl-tests from the rank's input, which is what a trace gives: n x input for all-gather and gather, whose S is
/// the gathered whole; the input itself for all others. Bytes(0) where the kind has no S: compute, barrier, unknown.
Bytes bandwidth_basis(const NodeInfo& node);

/// busbw / algbw: 2 (n - 1) / n for all-reduce; (n - 1) / n for all-gather, reduce-scatter, all-to-all, gather and
/// scatter; 1 for broadcast, reduce, send and receive.
double bus_factor(std::string_view kind, uint32_t members);

/// Absent where there is no S or no time.
std::optional<OperationBandwidth> operation_bandwidth(const NodeInfo& node, Duration time);

}  // namespace rankwire
