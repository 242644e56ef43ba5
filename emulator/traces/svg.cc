#include "emulator/traces/svg.h"

#include <fmt/format.h>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr const char* kStyle =
    "text{font:11px sans-serif;fill:#1b1f24}.tick{text-anchor:middle;fill:#59636e}line{stroke:#d0d7de}"
    ".compute{fill:#4c78a8}.communication{fill:#f58518}.other{fill:#54a24b}"
    "polyline{fill:none;stroke:#4c78a8;stroke-opacity:.6}";

}  // namespace

std::string svg_document(SvgSize size, const std::string& title, std::span<const SvgKey> keys,
                         const std::string& content) {
  std::string head = fmt::format("<text x=\"0\" y=\"12\">{}</text>\n", html_escaped(title));
  int x = size.width;
  for (const SvgKey& key : keys) {
    x -= 110;
    head += fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"4\" width=\"10\" height=\"10\"/>\n<text x=\"{}\" y=\"12\">{}</text>\n",
        key.css, x, x + 14, key.text);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>{2}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}{4}</svg>\n",
      size.width, size.height, kStyle, head, content);
}

}  // namespace rankwire
