#include "emulator/workload/names.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rankwire {
namespace {

constexpr size_t kLeastBlock = 1 << 10;
constexpr size_t kMostBlock = 1 << 20;

}  // namespace

std::string_view Names::add(std::string_view name) {
  if (name.empty()) return {};
  if (name.size() > left_) add_block(name.size());
  char* const text = free_;
  std::memcpy(text, name.data(), name.size());
  free_ += name.size();
  left_ -= name.size();
  return {text, name.size()};
}

// Blocks double, so that a short trace takes little and a long one few.
void Names::add_block(size_t least) {
  block_ = std::clamp(2 * block_, kLeastBlock, kMostBlock);
  left_ = std::max(block_, least);
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
  free_ = blocks_.back().get();
}

// Names differ at their ends, most of them.
size_t NameKeeper::place(std::string_view name) noexcept {
  uint64_t first = 0, last = 0;
  if (name.size() >= sizeof first) {
    std::memcpy(&first, name.data(), sizeof first);
    std::memcpy(&last, name.data() + name.size() - sizeof last, sizeof last);
  } else {
    for (const char letter : name) last = last << 8 | static_cast<uint8_t>(letter);
  }
  const uint64_t mixed = (first ^ (last * 0x9E3779B97F4A7C15u) ^ name.size()) * 0x9E3779B97F4A7C15u;
  return mixed >> (64 - kBits);
}

}  // namespace rankwire
