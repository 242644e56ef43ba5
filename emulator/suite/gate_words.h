// Words that gates compare by == and !=: one that is none of a figure's words would be unlike all of them.
#pragma once

#include "emulator/suite/gate.h"

namespace rankwire {

/// Throws Error(kInput) with the gate's origin and the nearest word where a gate on how a test of a suite, or the
/// suite, has ended has a word that is no verdict of these.
void require_suite_word(const Gate& gate);

/// The same of gates on the verdict or the fidelity of a run, or of the runs that are compared.
void require_run_word(const Gate& gate);

}  // namespace rankwire
