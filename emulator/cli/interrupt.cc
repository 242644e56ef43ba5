#include "emulator/cli/interrupt.h"

#include <csignal>

#include "base/stop.h"

namespace rankwire {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> was_interrupted{false};
std::atomic<const char*> interrupted_by{nullptr};  // null: a signal
std::atomic<uint32_t> asked{0};
std::atomic<bool> held{false};
std::atomic<int> spared{0};  // signals behind the first one that end nothing

void on_inquiry(int) {
  asked.fetch_add(1);
}

void on_hold(int signal) {
  held.store(signal == SIGRTMIN);
}

void on_signal(int signal) {
  if (was_interrupted.exchange(true) && spared.fetch_sub(1) <= 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // as nohup wants it
    return true;
  }();
  static_cast<void>(installed);
  return was_interrupted;
}

SecondSignalSpared::SecondSignalSpared() {
  spared.store(1);
}

SecondSignalSpared::~SecondSignalSpared() {
  spared.store(0);
}

void stop_files_on_signal() {
  stop_work_when(interrupt_flag());
}

FilesStopOnSignal::FilesStopOnSignal() {
  stop_files_on_signal();
}

FilesStopOnSignal::~FilesStopOnSignal() {
  static const std::atomic<bool> kNever{false};
  stop_work_when(kNever);
}

void interrupt(const char* reason) {
  if (was_interrupted.load()) return;
  interrupted_by.store(reason);
  was_interrupted.store(true);
}

const std::atomic<bool>& hold_flag() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = on_hold;
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGRTMIN, SIGRTMIN + 1}) sigaction(signal, &action, nullptr);
    return true;
  }();
  static_cast<void>(installed);
  return held;
}

std::string interruption() {
  const char* const reason = interrupted_by.load();
  return reason != nullptr ? reason : "stopped by a signal";
}

const std::atomic<uint32_t>& inquiries() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = on_inquiry;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    return true;
  }();
  static_cast<void>(installed);
  return asked;
}

}  // namespace rankwire
