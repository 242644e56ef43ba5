// Where the steps of a queue pair's state machines can be watched.
#pragma once

namespace rankwire {

/// Stands in a state machine for as long as one step takes, and knows what the step answers. Here it is empty. A test
/// that compiles the state machines with a StateStep of its own sees the states before and after
/// (tests/campaign/observed).
class [[maybe_unused]] StateStep {
 public:
  struct Expiry {};  ///< a deadline has passed
  struct Reply {};   ///< an answer is taken to be sent

  template <class Machine, class Cause>
  constexpr StateStep(const Machine& /*machine*/, const Cause& /*cause*/) noexcept {}
};

}  // namespace rankwire
