// Parts of a workload: what is not selected becomes a node that takes no time.
#pragma once

#include <span>
#include <vector>

#include "emulator/workload/workload.h"

namespace rankwire {

/// A selection, and which of its names have been met.
class Selector {
 public:
  /// `selection` outlives the selector. Throws Error(kInput) for an unknown kind.
  explicit Selector(const Selection& selection);

  /// Nothing is left out.
  bool selects_all() const { return selects_all_; }
  /// Takes its work from a node that is not selected. A list of groups concerns communication only: it deselects SEND
  /// and RECV, which belong to no group. Nodes that already are kNone stay so.
  void apply(Node& node, std::span<const Group> groups);
  /// Throws Error(kInput) for a group that is none of these.
  void check_groups(std::span<const Group> groups) const;
  /// A pattern that no node matched is a warning.
  void report(Warnings& warnings) const;

 private:
  bool selects_name(const Node& node);
  bool selects_group(const Node& node, std::span<const Group> groups) const;
  bool selects_kind(const Node& node) const;

  const Selection& selection_;
  bool selects_all_ = false;
  std::vector<bool> matched_;
};

/// Applies a selection to all ranks, before operations are numbered, and reports it.
void select_nodes(Selector& selector, std::span<const Group> groups, std::span<RankTrace> ranks, Warnings& warnings);

}  // namespace rankwire
