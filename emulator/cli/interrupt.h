// Ctrl-C, SIGTERM and SIGHUP end a run cleanly, with what it measured.
#pragma once

#include <atomic>

namespace rankwire {

/// True once SIGINT, SIGTERM or, unless it is ignored, SIGHUP has arrived. The first call installs the handlers; a
/// second signal ends the process at once.
const std::atomic<bool>& interrupt_flag();

}  // namespace rankwire
