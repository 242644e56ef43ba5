#include "base/printable.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

using std::string_view_literals::operator""sv;

TEST(Printable, LeavesTextAsItIs) {
  EXPECT_EQ(printable("caf\xC3\xA9, \xD7\xA9 and \xF0\x9F\x98\x80"), "caf\xC3\xA9, \xD7\xA9 and \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0") << "U+00A0 is a space";
}

// ECMA-48: a terminal obeys what follows ESC, or CSI, which is U+009B as well.
TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("\xC2\x9B"
                      "2J"),
            "\\xc2\\x9b2J");
  EXPECT_EQ(printable("over\rwritten\x7f"), "over\\x0dwritten\\x7f");
  EXPECT_EQ(printable("a\0b"sv), "a\\x00b");
  EXPECT_EQ(printable("\xFF\xE2\x82"), "\\xff\\xe2\\x82");
}

TEST(Printable, ALineIsOne) {
  EXPECT_EQ(printable_line("a\tb\nerror: forged"), "a\\tb\\nerror: forged");
}

TEST(Printable, WhatIsNoCharacterIsReplaced) {
  EXPECT_EQ(with_valid_utf8("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(with_valid_utf8("be\xFF\xE2\x82!"), "be\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD!");
}

}  // namespace
}  // namespace rankwire
