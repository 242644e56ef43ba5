// Whose data a sum is of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankwire {

/// A set of ranks, as bits.
class Contributors {
 public:
  Contributors() = default;
  static Contributors only(uint32_t rank);
  static Contributors all(uint32_t ranks);

  bool empty() const { return words_.empty(); }
  bool overlaps(const Contributors& other) const;
  Contributors& operator|=(const Contributors& other);
  bool operator==(const Contributors&) const = default;

 private:
  friend std::string to_string(const Contributors& set);

  std::vector<uint64_t> words_;  ///< the last one is not 0
};

/// "0, 2, 3", shortened when there are many.
std::string to_string(const Contributors& set);

}  // namespace rankwire
