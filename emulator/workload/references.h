// The ids that nodes refer to, as written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankwire {

/// A list of ids for each node, one behind the other.
class References {
 public:
  template <class Ids>
  void add_node(const Ids& ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    begin_.push_back(ids_.size());
  }
  /// Makes room for so many nodes, each with as many ids as those so far on average.
  void reserve(size_t nodes) {
    const size_t known = begin_.size() - 1;
    begin_.reserve(nodes + 1);
    if (known > 0) ids_.reserve(ids_.size() / known * nodes + nodes);
  }
  std::span<const uint64_t> of(size_t node) const {
    return {ids_.data() + begin_[node], ids_.data() + begin_[node + 1]};
  }
  bool empty() const { return ids_.empty(); }
  /// Of all nodes together.
  size_t size() const { return ids_.size(); }

 private:
  std::vector<size_t> begin_{0};
  std::vector<uint64_t> ids_;
};

}  // namespace rankwire
