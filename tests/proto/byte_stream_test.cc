// Files as bytes, whatever they are packed with.
#include "proto/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "base/error.h"
#include "tests/proto/put.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::put;
using testing::TemporaryFolder;

std::string packed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

/// Not the same all along, and longer than any buffer.
std::string much() {
  std::string bytes(3'000'000, '\0');
  uint32_t x = 1;
  for (char& c : bytes) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 28);
  return bytes;
}

std::string all_of(ByteStream& stream, size_t step) {
  std::string all;
  for (;;) {
    const std::string_view seen = stream.peek(step).substr(0, step);
    if (seen.empty()) return all;
    all += seen;
    stream.skip(seen.size());
  }
}

TEST(ByteStream, UnpacksZstdInOneOrSeveralFrames) {
  TemporaryFolder folder;
  const std::string bytes = much();
  for (const size_t step : {size_t{1000}, size_t{70'001}, size_t{1'000'000}}) {
    ByteStream stream(put(folder, packed(bytes) + packed("the end")));
    EXPECT_EQ(all_of(stream, step), bytes + "the end") << step;
    EXPECT_EQ(stream.offset(), bytes.size() + 7);
    EXPECT_EQ(stream.problem(), "");
  }
}

TEST(ByteStream, PeeksAsFarAsAskedAndGoesOn) {
  TemporaryFolder folder;
  const std::string bytes = much();
  ByteStream stream(put(folder, bytes));
  EXPECT_EQ(stream.peek(10).substr(0, 10), bytes.substr(0, 10));
  stream.skip(3);
  EXPECT_EQ(stream.peek(1'000'000).substr(0, 1'000'000), bytes.substr(3, 1'000'000));
  EXPECT_EQ(stream.offset(), 3u);
  stream.skip(1'000'000);
  EXPECT_EQ(stream.peek(3'000'000), bytes.substr(1'000'003)) << "all there is";
}

TEST(ByteStream, SaysThatAPackedFileIsBroken) {
  TemporaryFolder folder;
  const std::string good = packed(much());
  ByteStream cut(put(folder, good.substr(0, good.size() / 2)));
  all_of(cut, 1000);
  EXPECT_EQ(cut.problem(), "the compressed stream ends too early");
  std::string bad = good;
  bad[bad.size() / 2] ^= 0x55;
  bad[4] ^= 0x55;
  ByteStream damaged(put(folder, bad));
  all_of(damaged, 1000);
  EXPECT_NE(damaged.problem(), "");
}

}  // namespace
}  // namespace rankwire
