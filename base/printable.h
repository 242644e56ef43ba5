// Texts of others, made fit for a terminal and for files.
#pragma once

#include <string>
#include <string_view>

namespace rankwire {

/// `text` with "\x1b" and the like in place of control characters (C0, DEL, C1) but line ends and tabs, and of bytes
/// that are no UTF-8. So no name in a file can move the cursor, colour the screen or forge what stands there.
std::string printable(std::string_view text);

/// The same on one line: line ends and tabs are written as "\n" and "\t" too.
std::string printable_line(std::string_view text);

/// `text` with U+FFFD, the replacement character, in place of each byte that is of no character: JSON, HTML and CSV are
/// UTF-8.
std::string with_valid_utf8(std::string_view text);

}  // namespace rankwire
