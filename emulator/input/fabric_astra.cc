#include "emulator/input/fabric_astra.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "emulator/input/decimal.h"
#include "emulator/input/reader.h"

namespace rankwire {
namespace {

const Tree& place_of(const Tree& root, const char* key) {
  const Tree* const node = root.find(key);
  return node == nullptr ? root : *node;
}

}  // namespace

std::vector<Dimension> read_astra_network(const std::filesystem::path& file) {
  constexpr double kBitsOfGigabyte = 8.0 * (1 << 30), kMostGigabytes = 8'000, kMostNanoseconds = 1e9;
  const Tree root = read_yaml_file(file);
  std::vector<DimensionKind> kinds;
  std::vector<uint32_t> counts;
  std::vector<double> gigabytes, nanoseconds;
  Reader keys(root, "");
  keys.list("topology", kinds,
            Choice<DimensionKind>{{{"Ring", DimensionKind::kRing},
                                   {"Switch", DimensionKind::kSwitch},
                                   {"FullyConnected", DimensionKind::kFullyConnected}}});
  keys.list("npus_count", counts, Integer<uint32_t>{1, 1 << 16});
  keys.list("bandwidth", gigabytes, Decimal{1e-6, kMostGigabytes});
  keys.list("latency", nanoseconds, Decimal{0, kMostNanoseconds});
  keys.finish();
  if (kinds.empty()) fail_at(root.origin, "topology: is required, one word a dimension");
  const auto check_length = [&](const char* key, size_t length) {
    if (length != kinds.size()) {
      fail_at(place_of(root, key).origin, "{}: has {} values, and topology has {}", key, length, kinds.size());
    }
  };
  check_length("npus_count", counts.size());
  check_length("bandwidth", gigabytes.size());
  check_length("latency", nanoseconds.size());
  std::vector<Dimension> shape;
  for (size_t d = 0; d < kinds.size(); ++d) {
    const Bandwidth rate(std::llround(gigabytes[d] * kBitsOfGigabyte));
    shape.push_back({kinds[d], counts[d], {rate, Duration(std::llround(nanoseconds[d] * 1'000))}});
  }
  return shape;
}

}  // namespace rankwire
