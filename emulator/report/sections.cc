#include "emulator/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rankwire {

FittedText fitted(const std::vector<TextSection>& sections, size_t room) {
  std::vector<size_t> order(sections.size()), printed(sections.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return sections[i].rank; });
  for (const size_t i : order) {
    const TextSection& part = sections[i];
    const size_t lines = part.lines.size();
    printed[i] = part.rank == 0 ? lines : std::min(lines, room);
    if (printed[i] < std::min(lines, part.least)) printed[i] = 0;
    room -= std::min(room, printed[i]);
  }
  FittedText fitted;
  for (size_t i = 0; i < sections.size(); ++i) {
    const TextSection& part = sections[i];
    for (size_t line = 0; line < printed[i]; ++line) fitted.text += part.lines[line] + "\n";
    const size_t missing = part.lines.size() - printed[i];
    if (missing == 0) continue;
    fitted.left_out.push_back(
        printed[i] == 0 ? part.name : fmt::format("{} {} of {}", missing, missing == 1 ? "line" : "lines", part.name));
  }
  return fitted;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace rankwire
