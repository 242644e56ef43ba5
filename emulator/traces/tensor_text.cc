#include "emulator/traces/tensor_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace rankwire {
namespace {

/// The numbers at the end of a list, the last one first: "[7, 'a', 0, 1, 2" gives 2, 1, 0.
std::vector<int64_t> numbers_at_end(std::string_view list, size_t most) {
  std::vector<int64_t> numbers;
  while (numbers.size() < most) {
    const size_t begin = list.find_last_of(",[");
    if (begin == list.npos) break;
    std::string_view text = list.substr(begin + 1);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    int64_t number;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) break;
    numbers.push_back(number);
    list = list.substr(0, begin);
  }
  return numbers;
}

}  // namespace

void for_each_tensor(std::string_view values, const std::function<void(const TensorText&)>& tensor) {
  constexpr std::string_view kDevice = ", 'cuda";
  constexpr size_t kNumbers = 5;
  for (size_t at = values.find(kDevice); at != values.npos; at = values.find(kDevice, at + 1)) {
    const std::vector<int64_t> numbers = numbers_at_end(values.substr(0, at), kNumbers);
    if (numbers.size() < kNumbers) continue;
    tensor({.storage = numbers[3], .offset = numbers[2], .elements = numbers[1], .element_bytes = numbers[0]});
  }
}

int64_t group_size_of(std::string_view values) {
  if (!values.ends_with(']') || values.find("[], [], ") == values.npos) return 0;
  values.remove_suffix(1);
  const std::vector<int64_t> numbers = numbers_at_end(values, 3);
  const bool has_group = numbers.size() == 3 && numbers[0] > 0 && numbers[1] >= 1 && numbers[2] >= 0;
  return has_group ? numbers[0] : 0;
}

std::optional<int64_t> tensor_size(std::string_view text) {
  double size;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool whole = error == std::errc() && end == text.data() + text.size() && size == std::trunc(size);
  if (!whole || !(size >= 0 && size <= 0x1p53)) return std::nullopt;
  return static_cast<int64_t>(size);
}

}  // namespace rankwire
