// What has come from other machines and not been taken yet, and who of them is still there.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/machines/links.h"

namespace rankwire {

/// How long machines may be silent, how often they say that they are there, and how long their end may take.
struct MachinePatience {
  std::chrono::milliseconds silence{3000};
  std::chrono::milliseconds presence{250};
  /// Until a machine that is there has come to its end, too: it may be reading traces.
  std::chrono::milliseconds goodbye{60'000};
  /// For what all do together, milliseconds after they have said goodbye. mpirun as docs/hosts.md starts it ends
  /// processes ten seconds after it has seen one die.
  std::chrono::milliseconds parting{5000};
};

/// A machine is watched by the leader, and the leader by all: who has been silent for too long is gone for good, and
/// nothing that still comes of it counts. Of a machine that says why it cannot go on that is kept. One thread at a
/// time.
class MachinePost {
 public:
  using Clock = std::chrono::steady_clock;

  /// `links` are borrowed.
  MachinePost(MachineLinks& links, MachinePatience patience);

  uint32_t own() const { return links_.own(); }
  uint32_t count() const { return links_.count(); }
  bool leads() const { return own() == 0; }

  void send(uint32_t to, MachineTag tag, std::string_view bytes) { links_.send(to, tag, bytes); }
  /// To all others.
  void send_all(MachineTag tag, std::string_view bytes);
  /// Takes in what has arrived, answers pings, and says that this machine is there when it is time to.
  void turn(Clock::time_point now);
  /// The oldest of these.
  std::optional<std::string> take(uint32_t from, MachineTag tag);
  /// The newest; those before it are forgotten.
  std::optional<std::string> take_last(uint32_t from, MachineTag tag);

  /// The leader has asked for answers without a break.
  bool is_quick() const { return quick_; }
  /// Watched and silent for too long.
  bool is_gone(uint32_t machine) const { return others_[machine].gone; }
  /// Why the machine cannot go on, if it has said so.
  const std::optional<Error>& failure_of(uint32_t machine) const { return others_[machine].failure; }
  /// Nobody watches it any more.
  void dismiss(uint32_t machine) { others_[machine].watched = false; }

 private:
  struct Other {
    Clock::time_point heard;
    bool watched = false, gone = false;
    std::optional<Error> failure;
  };

  void take_in(MachineMessage message, Clock::time_point now);

  MachineLinks& links_;
  const MachinePatience patience_;
  std::vector<Other> others_;  // by machine, this one too
  std::map<std::pair<uint32_t, MachineTag>, std::deque<std::string>> arrived_;
  Clock::time_point told_;
  bool quick_ = false;
};

/// What a kFailure says.
std::string failure_bytes(const Error& error);

}  // namespace rankwire
