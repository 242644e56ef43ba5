// The repairs of one rank, as changes of its nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "emulator/traces/rank_facts.h"
#include "emulator/traces/repair.h"
#include "proto/chakra.pb.h"

namespace rankwire {

/// Gathers changes, which `apply` then makes to the messages of the file. The facts must outlive it.
class RankRepair {
 public:
  explicit RankRepair(const RankFacts& facts);

  /// What the file needs by itself.
  void repair_file();
  /// Sizes become `factor` times as large.
  void scale_sizes(int64_t factor);
  void set_tag(uint32_t node, int64_t tag);
  /// The node communicates no more and takes no time, and dependencies through it remain. A second time is nothing.
  void drop_operation(uint32_t node, const char* code, const std::string& what);
  bool drops(uint32_t node) const { return no_operation_.contains(node); }
  /// The node keeps its place and takes no time, where its duration cannot be one.
  void drop_absurd_duration(uint32_t node);
  /// Adds the other end of a SEND or RECV of another rank, which depends on nothing.
  void add_counterpart(const RankRepair& other, uint32_t node);
  const std::vector<chakra::Node>& added() const { return added_; }
  /// Adds to all recorded start times; not negative.
  void shift_clock(Duration shift);

  /// Makes the changes to the node of this index; false when it is dropped.
  bool apply(uint32_t index, chakra::Node& node) const;
  bool in_bytes() const { return factor_ > 1; }
  std::vector<RepairChange> take_changes();

 private:
  using Lists = std::vector<std::vector<uint64_t>>;

  uint64_t unused_id();
  void change(const char* code, const NodeFacts& node, const std::string& what, const char* done);
  void repair_reading();
  void repair_ids();
  void clean_lists();
  void clean(References& list, bool carries);
  void break_cycles();
  void order_kernels();
  void repair_double_counts();
  void repair_element_counts();
  References& carried() { return work_.carrier == Carrier::kData ? work_.data : work_.control; }

  const RankFacts& facts_;
  RankFacts work_;  ///< with the dependencies that the copy has
  std::unordered_set<uint32_t> dropped_;
  std::map<uint32_t, uint64_t> ids_;
  std::map<uint32_t, int64_t> tags_;
  std::map<uint32_t, int64_t> factors_;  ///< of single nodes
  std::unordered_set<uint32_t> to_compute_, no_operation_, no_duration_;
  std::vector<chakra::Node> added_;
  uint64_t last_id_ = 0;  ///< of those in use
  int64_t factor_ = 1;
  Duration clock_shift_;
  Findings found_;
  std::map<std::string, const char*> done_;  ///< by code
};

}  // namespace rankwire
