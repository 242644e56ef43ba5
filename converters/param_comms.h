// Communication traces of PARAM (facebookresearch/param, et_replay/comm, "basic" format) to Chakra: a JSON list for
// each rank of the calls and computations that its replay makes, one after another.
//
// A call that a later "wait" of the same group and request names runs beside what follows until then; all others are
// waited for at once. Point-to-point calls of a batch run beside each other until "batch_isend_irecv". Computations
// have no time but operations and memory, from which a run takes it (compute.source).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "converters/conversion.h"
#include "converters/pytorch_call.h"

namespace rankwire {

/// One element of the list.
struct ParamEntry {
  enum class Kind : uint8_t { kCall, kWait, kBatchEnd, kCompute, kNothing };
  Kind kind = Kind::kNothing;
  bool known = true;  ///< kNothing: else a call of a name that nobody knows
  std::string name;
  PytorchCall call;
  std::string request;   ///< group and request, by which a wait names a call
  bool batched = false;  ///< point-to-point: begins with the batch's end
  int64_t operations = 0;
  Bytes memory;
  int64_t world_size = 0;  ///< 0: not said
};

/// Throws Error(kInput) naming file and element. `path` is for messages.
std::vector<ParamEntry> parse_param_comms(const std::string& path, std::string_view json);

/// Writes a trace for each file, the n-th in the natural order of names that of rank n.
Conversion convert_param_comms(std::vector<std::string> files, const std::filesystem::path& folder,
                               ConversionProgress& progress);

}  // namespace rankwire
