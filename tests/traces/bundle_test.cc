#include "emulator/traces/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "proto/byte_stream.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct BundleTest : ::testing::Test {
  testing::TemporaryFolder folder;

  std::string unpacked(const std::string& archive) const {
    ByteStream stream(folder / archive);
    return std::string(stream.peek(1 << 20));
  }
};

TEST_F(BundleTest, WritesUstar) {
  std::ofstream(folder / "file") << std::string(513, 'x');
  Bundle bundle(folder / "b.tar.zst", "top");
  bundle.add_text("a.txt", "hello");
  bundle.add_path("b", folder / "file");
  bundle.close();
  const std::string tar = unpacked("b.tar.zst");
  // A header and one block, a header and two, two blocks of zeros.
  ASSERT_EQ(tar.size(), 512U * 7);
  EXPECT_EQ(std::string(tar.c_str()), "top/a.txt");
  EXPECT_EQ(tar.substr(124, 12), std::string("00000000005\0", 12));
  EXPECT_EQ(tar.substr(257, 8), std::string("ustar\00000", 8));
  EXPECT_EQ(tar.substr(512, 6), std::string("hello\0", 6));
  EXPECT_EQ(std::string(tar.c_str() + 1024), "top/b");
  EXPECT_EQ(tar.substr(1024 + 124, 11), "00000001001");  // 513
  // POSIX: the sum of the header's bytes, its own eight taken for blanks, as six octal digits.
  uint64_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(tar[i]);
  EXPECT_EQ(std::stoull(tar.substr(148, 6), nullptr, 8), sum);
}

TEST_F(BundleTest, SplitsLongNames) {
  const std::string part(90, 'd');
  Bundle bundle(folder / "b.tar.zst", part);
  bundle.add_text(part, "");
  EXPECT_THAT([&] { bundle.add_text(std::string(101, 'n'), ""); }, ThrowsMessage<Error>(HasSubstr("too long")));
  bundle.close();
  const std::string tar = unpacked("b.tar.zst");
  EXPECT_EQ(std::string(tar.c_str()), part);
  EXPECT_EQ(std::string(tar.c_str() + 345), part);
}

TEST_F(BundleTest, DoesNotOverwrite) {
  std::ofstream(folder / "b.tar.zst") << "old";
  EXPECT_THAT([&] { Bundle(folder / "b.tar.zst", "top"); }, ThrowsMessage<Error>(HasSubstr("b.tar.zst")));
}

}  // namespace
}  // namespace rankwire
