// Work on files that a signal ends cleanly.
#pragma once

#include <atomic>

namespace rankwire {

/// From now on `check_stop` throws once `flag`, which is never destroyed, is true.
void stop_work_when(const std::atomic<bool>& flag) noexcept;

/// Throws Error(kRun) when the work is to stop, so that whoever writes removes what is not whole. Any thread; takes
/// some nanoseconds.
void check_stop();

}  // namespace rankwire
