// Any bytes as a task graph of FlexFlow's: read or refused, and dependencies name operations of their rank.
#include <string_view>

#include "base/error.h"
#include "converters/flexflow.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  using fuzz::require;
  try {
    const FlexflowGraph graph = parse_flexflow("input", {reinterpret_cast<const char*>(data), size});
    for (const GoalRank& rank : graph.ranks) {
      require(&rank == &graph.ranks[rank.rank], "ranks stand in their order");
      for (const GoalOperation& operation : rank.operations) {
        require(operation.peer < graph.ranks.size(), "peers are ranks");
        for (const uint32_t before : operation.after)
          require(before < rank.operations.size(), "an operation depends on some of its rank");
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
