// The state machines of a Reliable Connection against arbitrary stories.
#include "tests/fuzz/rc_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* const broken_rule = rankwire::play_rc_story({data, size});
  rankwire::fuzz::require(broken_rule == nullptr, broken_rule);
  return 0;
}
