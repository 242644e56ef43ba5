// Pictures that stand alone: documents around what is drawn.
#pragma once

#include <span>
#include <string>

namespace rankwire {

struct SvgSize {
  int width = 0, height = 0;
};

/// A colour and what it stands for.
struct SvgKey {
  const char *css, *text;
};

/// The whole document, with its title and keys in the top line, 20 units high. Classes: compute, communication, other,
/// tick.
std::string svg_document(SvgSize size, const std::string& title, std::span<const SvgKey> keys,
                         const std::string& content);

}  // namespace rankwire
