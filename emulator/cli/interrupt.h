// Signals: Ctrl-C, SIGTERM and SIGHUP end a run cleanly, with what it measured; SIGUSR1 asks who waits for whom;
// SIGRTMIN holds it and SIGRTMIN+1 lets it go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace rankwire {

/// True once SIGINT, SIGTERM or, unless it is ignored, SIGHUP has arrived. The first call installs the handlers; a
/// second signal ends the process at once.
const std::atomic<bool>& interrupt_flag();

/// As long as it lives a second signal ends nothing, and a third one does: for what has to be put right and reported
/// however impatient somebody is, such as a cable that was pulled. `timeout` sends two at a time. One at a time.
class SecondSignalSpared {
 public:
  SecondSignalSpared();
  ~SecondSignalSpared();
  SecondSignalSpared(const SecondSignalSpared&) = delete;
  SecondSignalSpared& operator=(const SecondSignalSpared&) = delete;
};

/// From now on the first signal lets files that are read or written fail, so that who writes them removes what is not
/// whole.
void stop_files_on_signal();

/// The same as long as it lives: for a run, which a signal ends cleanly once it has begun.
class FilesStopOnSignal {
 public:
  FilesStopOnSignal();
  ~FilesStopOnSignal();
  FilesStopOnSignal(const FilesStopOnSignal&) = delete;
  FilesStopOnSignal& operator=(const FilesStopOnSignal&) = delete;
};

/// As a first signal does, for a reason that outlives the process's work: "stopped from the live page". Any thread.
void interrupt(const char* reason);

/// Why the flag above is true: "stopped by a signal" unless `interrupt` came first.
std::string interruption();

/// How often SIGUSR1 has arrived. The first call installs the handler.
const std::atomic<uint32_t>& inquiries();

/// True from SIGRTMIN to SIGRTMIN+1. The first call installs the handlers.
const std::atomic<bool>& hold_flag();

}  // namespace rankwire
