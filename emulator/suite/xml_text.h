// Text in XML 1.0.
#pragma once

#include <string>
#include <string_view>

namespace rankwire {

/// For element content and quoted attributes, where line ends and tabs survive as character references. What XML 1.0
/// has no character for (section 2.2 of its specification) becomes visible: a control character as its C escape such as
/// "\x1b", bytes that are no UTF-8 as U+FFFD.
std::string xml_escaped(std::string_view text);
/// The same, with line ends and tabs as they are: for element content that people read.
std::string xml_content(std::string_view text);

}  // namespace rankwire
