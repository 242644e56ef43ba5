#include "converters/node_files.h"

#include <fmt/format.h>

#include "base/error.h"

namespace rankwire {

std::string trace_file(const std::string& prefix, uint32_t rank) {
  return fmt::format("{}.{}.et", prefix, rank);
}

void NodeLimit::fail() const {
  constexpr uint64_t kBytesOfNode = 100;  // of what the generators write
  fail_input("more than {} nodes, which take some {} MB; {}", most_, most_ * kBytesOfNode / 1'000'000, beyond_);
}

}  // namespace rankwire
