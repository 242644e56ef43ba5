// Any bytes as a schedule of GOAL's: read or refused, and dependencies name operations of their rank.
#include <string_view>

#include "base/error.h"
#include "converters/goal.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  using fuzz::require;
  try {
    parse_goal("input", {reinterpret_cast<const char*>(data), size}, [](uint32_t ranks, const GoalRank& rank) {
      require(rank.rank < ranks, "ranks are those of num_ranks");
      for (uint32_t i = 0; i < rank.operations.size(); ++i) {
        require(rank.operations[i].peer < ranks, "so are peers");
        for (const uint32_t before : rank.operations[i].after) {
          require(before < rank.operations.size() && before != i, "an operation depends on others of its rank");
        }
      }
    });
  } catch (const Error&) {
  }
  return 0;
}
