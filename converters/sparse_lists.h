// Lists of which most are empty, so that these take no memory.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rankwire {

template <class T>
class SparseLists {
 public:
  /// Valid until the next change of this list.
  std::span<const T> operator[](uint32_t list) const {
    const auto found = lists_.find(list);
    return found == lists_.end() ? std::span<const T>{} : std::span<const T>(found->second);
  }
  void add(uint32_t list, T value) { lists_[list].push_back(value); }
  void set(uint32_t list, std::vector<T> values) {
    if (!values.empty()) lists_[list] = std::move(values);
  }

 private:
  std::unordered_map<uint32_t, std::vector<T>> lists_;
};

}  // namespace rankwire
