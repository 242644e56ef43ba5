#include "emulator/workload/id_index.h"

#include <algorithm>

namespace rankwire {

IdIndex::IdIndex(std::span<const Node> nodes) {
  uint64_t last = 0;
  for (const Node& node : nodes) last = std::max(last, node.id);
  if (last < 4 * nodes.size()) {
    make_table(nodes, last + 1);
  } else {
    make_list(nodes);
  }
}

void IdIndex::make_table(std::span<const Node> nodes, uint64_t size) {
  table_.assign(size, kNone);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    uint32_t& place = table_[nodes[i].id];
    if (place == kNone) {
      place = i;
    } else if (!repeated_) {
      repeated_.emplace(place, i);
    }
  }
}

void IdIndex::make_list(std::span<const Node> nodes) {
  list_.reserve(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) list_.emplace_back(nodes[i].id, i);
  std::ranges::sort(list_);
  const auto same = std::ranges::adjacent_find(list_, {}, &std::pair<uint64_t, uint32_t>::first);
  if (same != list_.end()) repeated_.emplace(same->second, std::next(same)->second);
}

uint32_t IdIndex::look_up(uint64_t id) const noexcept {
  if (!table_.empty()) return id < table_.size() ? table_[id] : kNone;
  const auto at = std::ranges::lower_bound(list_, id, {}, &std::pair<uint64_t, uint32_t>::first);
  return at != list_.end() && at->first == id ? at->second : kNone;
}

}  // namespace rankwire
