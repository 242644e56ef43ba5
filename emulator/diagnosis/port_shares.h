// What jobs sent through the same port of a run with messages, and for how long both did.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// One job beside one other in one direction of a port. Bytes are payload of messages, but control messages.
struct PortShare {
  /// A job has messages there from the post of each to its delivery; where the record does not have all messages, as
  /// long as an operation with such messages lasts, see operation_traffic.h.
  struct Together {
    Duration time;       ///< in which the job had messages there
    Duration shared;     ///< in which the other had messages there, too
    Bytes shared_bytes;  ///< of the job's: those of `shared`, if each message or operation goes evenly
    bool by_operations = false;
  };

  PortId port;
  bool outbound = true;  ///< from the port into the network; otherwise from the network to the port
  JobId job, other;
  Bytes bytes, other_bytes;          ///< of each of them there
  std::optional<Together> together;  ///< absent unless the record has all messages, or all operations
};

/// Whether messages between the ranks cross the network between two ports, by where `nics` says that ranks stand.
bool meet_in_the_network(std::span<const RankNic> nics, RankId source, RankId destination);

/// By port, direction (outbound first), job and other. Empty where the record has fewer than two jobs or does not say
/// which ports its ranks stand behind. Reads queue pairs once, and all messages, or nodes and operations.
std::vector<PortShare> port_shares(const RunReader& record, const RecordedRun& run);

}  // namespace rankwire
