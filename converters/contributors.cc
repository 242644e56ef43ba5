#include "converters/contributors.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

Contributors Contributors::only(uint32_t rank) {
  Contributors set;
  set.words_.resize(rank / 64 + 1);
  set.words_.back() = uint64_t{1} << (rank % 64);
  return set;
}

Contributors Contributors::all(uint32_t ranks) {
  Contributors set;
  set.words_.assign(ranks / 64, UINT64_MAX);
  if (ranks % 64 != 0) set.words_.push_back((uint64_t{1} << (ranks % 64)) - 1);
  return set;
}

bool Contributors::overlaps(const Contributors& other) const {
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

Contributors& Contributors::operator|=(const Contributors& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

std::string to_string(const Contributors& set) {
  constexpr size_t kShown = 12;
  std::string text;
  size_t count = 0;
  for (size_t rank = 0; rank < 64 * set.words_.size(); ++rank) {
    if ((set.words_[rank / 64] >> (rank % 64) & 1) == 0) continue;
    if (count++ < kShown) text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  }
  if (count > kShown) text += fmt::format(" and {} more", count - kShown);
  return text;
}

}  // namespace rankwire
