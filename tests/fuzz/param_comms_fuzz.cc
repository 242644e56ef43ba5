// Any bytes as a communication trace of PARAM's: read or refused.
#include <string_view>

#include "base/error.h"
#include "converters/param_comms.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  try {
    for (const ParamEntry& entry : parse_param_comms("input", {reinterpret_cast<const char*>(data), size})) {
      fuzz::require(entry.operations >= 0 && entry.memory.count >= 0, "no work is negative");
      fuzz::require(entry.call.input.count >= 0 && entry.call.output.count >= 0, "no size is negative");
    }
  } catch (const Error&) {
  }
  return 0;
}
