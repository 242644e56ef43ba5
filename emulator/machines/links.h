// How the processes of a run over several machines reach each other, whatever starts them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rankwire {

/// What a message between machines is about.
enum class MachineTag : uint8_t {
  kPresence,   ///< nothing but that its sender is there
  kFailure,    ///< why its sender cannot go on
  kReport,     ///< to the leader: what it has asked of all
  kOrder,      ///< from the leader: what all are to know
  kEndPoints,  ///< the sender's ends of connections to the receiver
  kReady,      ///< all connections of the sender carry messages; from the leader: those of all
  kState,      ///< how far the run is: the sender's, or from the leader that of all
  kQuick,      ///< from the leader: clocks are going to be compared, answer without a break
  kCalm,       ///< that is over
  kPing,
  kPong,    ///< what the sender's clock says
  kPart,    ///< a piece of the sender's record
  kMember,  ///< what became of a member of the reference's ensemble; of nothing: that was all
  kHalt,    ///< from the leader: of these nobody need tell any more
  kLeave    ///< from the leader: it is over, or how all leave; to it: the sender has come to its end, too
};

struct MachineMessage {
  uint32_t from = 0;
  MachineTag tag = MachineTag::kPresence;
  std::string bytes;
};

/// The processes of a run, one a machine, numbered from 0, which leads. Messages from one to another keep their order.
/// Nothing waits for another machine: of one that has died nothing more is heard. One thread at a time, which need not
/// always be the same but for `leave`.
class MachineLinks {
 public:
  virtual ~MachineLinks() = default;
  virtual uint32_t own() const = 0;
  virtual uint32_t count() const = 0;
  /// What the system calls the machine that this process runs on.
  virtual std::string system_name() const = 0;
  virtual void send(uint32_t to, MachineTag tag, std::string_view bytes) = 0;
  /// A message that has arrived completely, or nothing.
  virtual std::optional<MachineMessage> receive() = 0;
  /// Nothing is sent or received any more. `orderly`: all machines do so now, and this returns when they have;
  /// otherwise at once. By the thread that made it.
  virtual void leave(bool orderly) = 0;
};

}  // namespace rankwire
