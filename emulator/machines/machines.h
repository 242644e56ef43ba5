// The machines of a run as each of them sees the others: a thread that talks to them, and what is agreed before a run
// and after it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "emulator/machines/clock_fit.h"
#include "emulator/machines/machine_post.h"

namespace rankwire {

/// After construction a thread of its own has the links, looks for messages every millisecond, and sleeps in between:
/// it costs a worker on the same core next to nothing. The functions belong to one other thread, but for `send` and
/// `is_gone`. Those that wait for a machine throw Error(kRun) when it has gone, and what another machine has said that
/// keeps it from going on, with its name in front: nothing waits for ever.
///
/// The leader is machine 0.
class Machines {
 public:
  /// `name`: of this machine; empty: what the system calls it, up to its first dot. Waits until all are there. Throws
  /// Error(kInput), everywhere, when two have one name.
  Machines(std::unique_ptr<MachineLinks> links, const std::string& name, MachinePatience patience = {});
  /// Leaves at once, if that has not been done.
  ~Machines();
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;

  uint32_t own() const { return post_.own(); }
  uint32_t count() const { return post_.count(); }
  bool leads() const { return post_.leads(); }
  const std::string& name(uint32_t machine) const { return names_[machine]; }
  const std::string& own_name() const { return names_[own()]; }
  const std::vector<std::string>& names() const { return names_; }
  /// What the system calls it; two machines of a name share their files.
  const std::string& system_name(uint32_t machine) const { return system_names_[machine]; }

  /// To the leader, who has those of all by machine; elsewhere nothing is returned.
  std::vector<std::string> gather(const std::string& own);
  /// The same after a run: absent is what a machine that has gone or failed would have said. From then on the leader is
  /// told of such machines by what it waits for from them alone.
  std::vector<std::optional<std::string>> gather_from_present(const std::string& own);
  /// The leader's, to all.
  std::string from_leader(const std::string& text);
  /// All have come here.
  void meet();

  void send(uint32_t to, MachineTag tag, const std::string& bytes);
  std::string take(uint32_t from, MachineTag tag);
  /// At once. Throws as those do that wait.
  std::optional<std::string> take_arrived(uint32_t from, MachineTag tag);
  bool is_gone(uint32_t machine);
  /// Neither gone, nor has it said that it cannot go on.
  bool is_present(uint32_t machine);
  bool others_are_present();
  /// At once, whatever has become of anybody.
  std::optional<std::string> take_if_arrived(uint32_t from, MachineTag tag);

  /// Says that this machine cannot go on, and why. The leader says it to all.
  void fail(const Error& error);
  /// How the process ends should its links not let it go.
  struct Leaving {
    int status = 0;     ///< of the process
    std::string error;  ///< that is said before, unless it is empty
    /// By the leader: nobody is waited for any more when this becomes true. Null: nothing hurries it.
    const std::atomic<bool>* hurry = nullptr;
  };
  /// All machines leave when the leader does, who asks all whether they have come here, too. Returns, to the leader,
  /// those that had gone or did not answer: then the links are left at once, by all. Otherwise they are left together;
  /// should a machine die meanwhile, that would never end, and the process is ended as `leaving` says when it has taken
  /// too long.
  std::vector<uint32_t> leave(const Leaving& leaving);

  /// By the leader, while the others are in `meet`, `gather` or the like: asks the machine for its time.
  std::vector<ClockSample> ping(uint32_t machine, uint32_t most);
  /// By the leader, before and after the pings.
  void be_quick(bool quick);

  /// Called by the thread in each of its turns, until it is replaced by nothing.
  using Turn = std::function<void(MachinePost& post)>;
  void each_turn(Turn turn);
  /// Once, now.
  void turn_now(const Turn& turn);

 private:
  void work() noexcept;
  void stop();
  /// By the leader: who had gone or did not answer.
  std::vector<uint32_t> see_off(const Leaving& leaving);
  /// By another machine: whether the leader says that all have answered it.
  bool say_goodbye();
  void introduce(const std::string& name);
  /// Throws when somebody has gone or failed, whoever is waited for, since that may never come then.
  void require_present(uint32_t from);

  const std::unique_ptr<MachineLinks> links_;
  const MachinePatience patience_;
  std::mutex mutex_;  // of the links, `post_`, `turn_` and `stopping_`
  MachinePost post_;
  Turn turn_;
  bool stopping_ = false;
  bool outlives_ = false;  // of the leader: what becomes of some keeps it from nothing that it does with others
  std::vector<std::string> names_, system_names_;
  std::thread thread_;
};

}  // namespace rankwire
