#include "proto/trace_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "tests/proto/put.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::put;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string frame(const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  EXPECT_LT(body.size(), 128u) << "one byte of length";
  return static_cast<char>(body.size()) + body;
}

chakra::Node make_node(uint64_t id, const std::string& name, chakra::NodeType type) {
  chakra::Node node;
  node.set_id(id);
  node.set_name(name);
  node.set_type(type);
  return node;
}

class RoundTrip : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, KeepsMetadataAndNodes) {
  TemporaryFolder folder;
  const std::string path = folder / GetParam();
  chakra::GlobalMetadata metadata;
  metadata.set_version("1.0.0");
  TraceWriter writer(path);
  writer.write(metadata);
  constexpr uint64_t kNodes = 5000;  // several buffers, and lengths of one and two bytes
  for (uint64_t id = 0; id < kNodes; ++id) {
    chakra::Node node = make_node(id, std::string(id % 200, 'n'), chakra::COMP_NODE);
    node.add_data_deps(id / 2);
    writer.write(node);
  }
  writer.close();

  TraceReader reader(path);
  ASSERT_TRUE(reader.metadata());
  EXPECT_EQ(reader.metadata()->version, "1.0.0");
  EXPECT_EQ(reader.path(), path);
  TraceNode node;
  for (uint64_t id = 0; id < kNodes; ++id) {
    ASSERT_TRUE(reader.next(node));
    ASSERT_EQ(node.id, id);
    ASSERT_EQ(node.name.size(), id % 200);
    ASSERT_EQ(node.data_deps[0], id / 2);
  }
  EXPECT_FALSE(reader.next(node));
  EXPECT_FALSE(reader.next(node)) << "the end stays the end";
}

INSTANTIATE_TEST_SUITE_P(Names, RoundTrip, ::testing::Values("t.et", "t.et.gz"),
                         [](const auto& instance) { return std::string(instance.param) == "t.et" ? "Plain" : "Gzip"; });

TEST(TraceStream, GzipIsKnownByItsMagicAndNotByTheName) {
  TemporaryFolder folder;
  TraceWriter writer(folder / "t.gz");
  writer.write(make_node(3, "n", chakra::COMP_NODE));
  writer.close();
  const std::string packed = contents(folder / "t.gz");
  EXPECT_THAT(packed, StartsWith("\x1f\x8b"));
  TraceReader reader(put(folder, packed));
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, 3u);
}

TEST(TraceStream, BytesAreThoseOfChakra) {
  // Length 9; field 1 varint 3, field 2 "n", field 3 varint 4 (COMP), field 5 packed {1}... = 2 + 3 + 2 + 3 bytes.
  TemporaryFolder folder;
  chakra::Node node = make_node(3, "n", chakra::COMP_NODE);
  node.add_data_deps(1);
  TraceWriter writer(folder / "t.et");
  writer.write(node);
  writer.close();
  EXPECT_EQ(contents(folder / "t.et"), std::string("\x0a\x08\x03\x12\x01n\x18\x04\x2a\x01\x01", 11));
}

TEST(TraceStream, ReadsThePublishedMetadataFrame) {
  // The first bytes of a trace of the PyTorch converter: schema is string_val (field 29), pid is uint64_val (field 13).
  TemporaryFolder folder;
  std::string body(
      "\x12\x10\x0a\x06schema\xea\x01\x05"
      "1.0.1\x12\x09\x0a\x03pid\x68\xa6\xff\x06",
      29);
  TraceReader reader(put(folder, static_cast<char>(body.size()) + body));
  ASSERT_TRUE(reader.metadata());
  // 114598: 0x26 + (0x7f << 7) + (0x06 << 14).
  EXPECT_THAT(reader.metadata()->attributes, ElementsAre(Pair("schema", "1.0.1"), Pair("pid", "114598")));
}

TEST(TraceStream, DependenciesMayBeUnpacked) {
  TemporaryFolder folder;
  // Field 1 varint 3, then field 5 twice as a varint (tag 0x28).
  TraceReader reader(put(folder, std::string("\x06\x08\x03\x28\x01\x28\x02", 7)));
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_THAT(node.data_deps, ElementsAre(1, 2));
}

TEST(TraceStream, FieldsOfLaterSchemasAreSkipped) {
  // id 3; type STORAGE_NODE, 8; storage, field 11, a message whose field 1 is a number.
  TemporaryFolder folder;
  TraceReader reader(put(folder, std::string("\x08\x08\x03\x18\x08\x5A\x02\x08\x01", 9)));
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, 3u);
}

TEST(FirstFrame, MayBeANode) {
  TemporaryFolder folder;
  TraceReader reader(put(folder, frame(make_node(1, "n", chakra::COMP_NODE))));
  EXPECT_FALSE(reader.metadata());
  EXPECT_EQ(reader.offset(), 0u);
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.name, "n");
  EXPECT_EQ(reader.offset(), 8u);
}

TEST(FirstFrame, MayBeANodeWithIdZero) {
  // proto3 omits the id 0; the type remains, which metadata has not.
  TemporaryFolder folder;
  TraceReader reader(put(folder, frame(make_node(0, "n", chakra::COMP_NODE))));
  EXPECT_FALSE(reader.metadata());
}

TEST(FirstFrame, MayBeANodeWithNothingButAName) {
  TemporaryFolder folder;
  TraceReader reader(put(folder, frame(make_node(0, "a name that is no attribute", chakra::INVALID_NODE))));
  EXPECT_FALSE(reader.metadata());
}

TEST(FirstFrame, OfLengthZeroIsEmptyMetadata) {
  TemporaryFolder folder;
  TraceReader reader(put(folder, std::string(1, '\0') + frame(make_node(4, "n", chakra::COMP_NODE))));
  ASSERT_TRUE(reader.metadata());
  EXPECT_EQ(reader.metadata()->version, "");
  EXPECT_EQ(reader.offset(), 1u);
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, 4u);
}

TEST(FirstFrame, MayBeAbsent) {
  TemporaryFolder folder;
  TraceReader reader(put(folder, ""));
  EXPECT_FALSE(reader.metadata());
  TraceNode node;
  EXPECT_FALSE(reader.next(node));
}

TEST(TraceStream, EveryTruncationIsAnErrorOrABoundary) {
  TemporaryFolder folder;
  const std::string one = frame(make_node(1, "first", chakra::COMP_NODE));
  const std::string both = one + frame(make_node(2, "second", chakra::COMP_NODE));
  for (size_t length = 0; length < both.size(); ++length) {
    const auto read_all = [&] {
      TraceReader reader(put(folder, both.substr(0, length)));
      TraceNode node;
      while (reader.next(node)) {
      }
    };
    if (length == 0 || length == one.size()) {
      EXPECT_NO_THROW(read_all()) << length;
    } else {
      EXPECT_THAT(read_all, ThrowsMessage<Error>(HasSubstr("ends within the frame"))) << length;
    }
  }
}

TEST(TraceStream, EveryTruncationOfGzipIsAnError) {
  TemporaryFolder folder;
  TraceWriter writer(folder / "t.gz");
  for (uint64_t id = 0; id < 20; ++id) writer.write(make_node(id, "some name", chakra::COMP_NODE));
  writer.close();
  const std::string packed = contents(folder / "t.gz");
  for (size_t length = 2; length < packed.size(); ++length) {
    const std::string path = put(folder, packed.substr(0, length));
    EXPECT_THROW(
        {
          TraceReader reader(path);
          TraceNode node;
          while (reader.next(node)) {
          }
        },
        Error)
        << length;
  }
}

TEST(TraceStream, ADamagedChecksumIsAnError) {
  TemporaryFolder folder;
  TraceWriter writer(folder / "t.gz");
  writer.write(make_node(1, "n", chakra::COMP_NODE));
  writer.close();
  std::string packed = contents(folder / "t.gz");
  packed[packed.size() - 8] ^= 1;  // the CRC stands in the last 8 bytes
  const std::string path = put(folder, packed);
  EXPECT_THAT(
      [&] {
        TraceReader reader(path);
        TraceNode node;
        while (reader.next(node)) {
        }
      },
      ThrowsMessage<Error>(HasSubstr("incorrect data check")));
}

TEST(TraceStream, WhatCannotBeOpenedIsNamed) {
  EXPECT_THAT([] { TraceReader("/nonexistent/t.et"); },
              ThrowsMessage<Error>(HasSubstr("/nonexistent/t.et: cannot open: No such file")));
  EXPECT_THAT([] { TraceWriter("/nonexistent/t.et"); },
              ThrowsMessage<Error>(HasSubstr("/nonexistent/t.et: cannot create: No such file")));
  EXPECT_THAT([] { TraceReader("/"); }, ThrowsMessage<Error>(HasSubstr("is a directory, not a file")));
}

TEST(TraceStream, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_THAT(
      [] {
        TraceWriter writer("/dev/full");
        writer.write(make_node(1, "n", chakra::COMP_NODE));
        writer.close();
      },
      ThrowsMessage<Error>(HasSubstr("/dev/full: cannot write: No space left")));
}

TEST(TraceStream, EqualMessagesGiveEqualFiles) {
  TemporaryFolder folder;
  for (const char* name : {"a.gz", "b.gz"}) {
    TraceWriter writer(folder / name);
    writer.write(make_node(1, "n", chakra::COMP_NODE));
    writer.close();
  }
  EXPECT_EQ(contents(folder / "a.gz"), contents(folder / "b.gz"));
}

}  // namespace
}  // namespace rankwire
