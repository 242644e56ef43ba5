#include "emulator/cli/interrupt.h"

#include <csignal>

namespace rankwire {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted{false};

void on_signal(int signal) {
  if (interrupted.exchange(true)) {
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
  return interrupted;
}

}  // namespace rankwire
