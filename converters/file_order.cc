#include "converters/file_order.h"

#include <cctype>

namespace rankwire {

bool natural_less(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view& text) {
    size_t digits = 0;
    while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
    std::string_view value = text.substr(0, digits);
    text.remove_prefix(digits);
    while (value.size() > 1 && value.front() == '0') value.remove_prefix(1);
    return value;
  };
  while (!a.empty() && !b.empty()) {
    const std::string_view x = number(a), y = number(b);
    if (x.empty() != y.empty()) return !x.empty();
    if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
    if (!x.empty()) continue;
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

}  // namespace rankwire
