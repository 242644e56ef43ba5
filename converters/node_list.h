// Traces written by hand: a list of nodes, each of one rank or of several that do the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "converters/action_kind.h"
#include "converters/generated_traces.h"

namespace rankwire {

struct ListedNode {
  std::string name;                        ///< of one entry alone among those of a rank
  std::vector<uint32_t> ranks;             ///< who does it
  ActionKind kind = ActionKind::kCompute;  ///< kCompute to kBarrier
  Bytes size = {};                         ///< of a message, or of each rank's input of a collective
  Duration duration = {};                  ///< kCompute, kHost: whole microseconds
  std::vector<uint32_t> group = {};        ///< of a collective: its members in the order of the ring; empty: `ranks`
  std::vector<uint32_t> peers = {};        ///< kSend: to whom, kReceive: from whom; a message each
  uint32_t tag = 0;                        ///< kSend, kReceive
  uint32_t root = 0;                       ///< of a collective that has one: a member
  std::vector<std::string> after = {};     ///< names of entries before this one, on which it depends in each rank
  uint32_t iterations = 1;                 ///< how often, each time after the one before

  bool operator==(const ListedNode&) const = default;
  const std::vector<uint32_t>& members() const { return group.empty() ? ranks : group; }
};

/// Of all ranks and iterations.
inline constexpr uint64_t kMostListedNodes = 10'000'000;

/// What of a list contradicts the rest.
struct WrongNode {
  size_t entry = 0;
  std::string key;   ///< of the entry
  std::string text;  ///< what is wrong with its value
};
/// The first contradiction, also between ranks: messages without an other end, and collectives in which members
/// disagree.
std::optional<WrongNode> wrong_node_list(const std::vector<ListedNode>& nodes);

/// One more than the highest rank that an entry names.
uint32_t listed_ranks(const std::vector<ListedNode>& nodes);

/// Writes `<prefix>.<rank>.et` and `<prefix>.json`. Ranks without an entry have one node that does nothing. Of a list
/// that is wrong between ranks the traces are wrong in the same way. Throws Error(kRun) when a file cannot be written.
GeneratedTraces write_node_list(const std::vector<ListedNode>& nodes, const NodeFiles& set);

}  // namespace rankwire
