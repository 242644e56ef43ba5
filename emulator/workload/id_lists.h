// The ids that the nodes of a whole file refer to, in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace rankwire {

/// A list of ids for each node, one behind the other, in 32 bits as long as all of them fit, as nearly always.
class IdLists {
 public:
  /// Throws Error(kInput) when there would be 2^32 ids or more.
  void add_node(const std::vector<uint64_t>& ids) {
    uint64_t bits = 0;
    for (const uint64_t id : ids) bits |= id;
    if (bits > UINT32_MAX && !is_wide_) widen();
    if (is_wide_) {
      wide_.insert(wide_.end(), ids.begin(), ids.end());
    } else {
      narrow_.insert(narrow_.end(), ids.begin(), ids.end());
    }
    if (size() > UINT32_MAX) fail_input("the nodes have more than {} dependencies", UINT32_MAX);
    ends_.push_back(static_cast<uint32_t>(size()));
  }
  /// Makes room for so many nodes, each with as many ids as those so far on average.
  void reserve(size_t nodes) {
    if (!ends_.empty() && !is_wide_) narrow_.reserve(narrow_.size() / ends_.size() * nodes + nodes);
    ends_.reserve(nodes);
  }
  /// Hands each id of a node to `take`.
  template <class Take>
  void each(size_t node, Take take) const {
    for (uint32_t at = node > 0 ? ends_[node - 1] : 0; at < ends_[node]; ++at) {
      take(is_wide_ ? wide_[at] : uint64_t{narrow_[at]});
    }
  }
  bool empty() const { return size() == 0; }
  /// Of all nodes together.
  size_t size() const { return is_wide_ ? wide_.size() : narrow_.size(); }

 private:
  void widen() {
    wide_.assign(narrow_.begin(), narrow_.end());
    narrow_ = {};
    is_wide_ = true;
  }

  std::vector<uint32_t> ends_;  ///< by node
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;  ///< instead, if `is_wide_`
  bool is_wide_ = false;
};

}  // namespace rankwire
