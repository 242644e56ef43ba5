// Traces that are to be looked at and not run: of a rank's operations that are alike one is kept, and how many there
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/workload/workload.h"
#include "proto/trace_node.h"

namespace rankwire {

/// By communication of a rank, in file order: the kept node that it is like.
using LikeOrder = std::vector<uint16_t>;

/// The operations of one rank that differ in what they send, to or from whom.
class LikeNodes {
 public:
  static constexpr size_t kMost = 1 << 16;

  /// The number of the first operation like this one, counted as they are met; nothing when kMost others differ from it
  /// and from each other. SENDs whose names have the same pattern are alike in their names, other operations always.
  /// Throws as the functions of proto/attributes.h.
  std::optional<uint16_t> number_of(const TraceNode& in, const Node& node);
  /// Bytes of names that differ from those of the operations before: what a NameKeeper would take for all of them.
  uint64_t name_bytes() const { return name_bytes_; }

 private:
  void count_name(std::string_view name);

  std::unordered_map<std::string, uint16_t> numbers_;
  std::string key_;                     ///< of the node at hand
  std::vector<uint64_t> recent_names_;  ///< hashes, by their last bits
  uint64_t name_bytes_ = 0;
};

/// Whether operations of different ranks go together as match_collectives and match_point_to_point demand, and the
/// ranks run to their end where each does one after the other. `orders` are by rank, of the folded `workload`, whose
/// groups are known. No says nothing: what is wrong, if anything, is for those to tell who have all nodes.
bool folded_ranks_go_together(const Workload& workload, std::span<const LikeOrder> orders);

}  // namespace rankwire
