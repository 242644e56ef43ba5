// The command line of `rankwire trace check|...`.
#pragma once

#include "emulator/cli/trace_commands.h"

namespace CLI {
class App;
}

namespace rankwire {

/// Holds what the options of the verbs are stored in, as long as the command line is used.
class TraceVerbs {
 public:
  /// Adds the verbs to `rankwire trace`; the one that is called leaves its result in `status`.
  void add(CLI::App& trace, int& status);

 private:
  void add_inputs(CLI::App& verb, TraceInputs& inputs);
  void add_reading(CLI::App& verb, TraceInputs& inputs);
  void add_times(CLI::App& verb, TraceTimes& times);
  void add_check(CLI::App& trace, int& status);
  void add_inspect(CLI::App& trace, int& status);
  void add_scale(CLI::App& trace, int& status);
  void add_select(CLI::App& trace, int& status);
  void add_obfuscate(CLI::App& trace, int& status);
  void add_shrink(CLI::App& trace, int& status);
  void add_synthesize(CLI::App& trace, int& status);
  void add_choose(CLI::App& trace, int& status);
  void add_draw(CLI::App& trace, int& status);

  TraceCheckRequest check_;
  TraceInspectRequest inspect_;
  TraceScaleRequest scale_;
  TraceSelectRequest select_;
  TraceObfuscateRequest obfuscate_;
  TraceShrinkRequest shrink_;
  TraceSynthesizeRequest synthesize_;
  TraceChooseRequest choose_;
  TraceDrawRequest draw_;
};

}  // namespace rankwire
