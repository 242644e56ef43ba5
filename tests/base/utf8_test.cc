#include "base/utf8.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// The bounds of RFC 3629, chapters 3 and 4.
TEST(Utf8, KnowsCharactersByTheirLength) {
  EXPECT_EQ(utf8_length("a\xFF"), 1u);
  EXPECT_EQ(utf8_length("\xC2\x80"), 2u);          // U+0080
  EXPECT_EQ(utf8_length("\xEF\xBF\xBF"), 3u);      // U+FFFF
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4u);  // U+10FFFF
}

TEST(Utf8, RefusesWhatIsNone) {
  EXPECT_EQ(utf8_length("\x80"), 0u);
  EXPECT_EQ(utf8_length("\xC1\xBF"), 0u);          // too long a form of U+007F
  EXPECT_EQ(utf8_length("\xE0\x9F\xBF"), 0u);      // and of U+07FF
  EXPECT_EQ(utf8_length("\xF0\x8F\xBF\xBF"), 0u);  // and of U+FFFF
  EXPECT_EQ(utf8_length("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(utf8_length("\xF4\x90\x80\x80"), 0u);  // U+110000
  EXPECT_EQ(utf8_length("\xE2\x82"), 0u);          // cut off
}

TEST(Utf8, LooksAtAllOfAText) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("caf\xC3\xA9"));
  EXPECT_FALSE(is_utf8("caf\xE9"));
}

}  // namespace
}  // namespace rankwire
