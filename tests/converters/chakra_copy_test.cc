#include "converters/chakra_copy.h"

#include <gmock/gmock.h>

#include "proto/trace_stream.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_written;
using ::testing::SizeIs;
using testing::WrittenNode;

TEST(ChakraCopy, JsonBecomesTheSameNodes) {
  testing::TemporaryFolder folder;
  const std::string json = testing::write_text(folder / "t.json", R"({"version": "0.0.4"}
    {"name": "a", "type": "COMP_NODE", "durationMicros": "7", "attr": [{"name": "is_cpu_op", "int32Val": 1}]}
    {"id": "3", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "ctrlDeps": ["0"], "attr": [
      {"name": "comm_type", "int64Val": "2"}, {"name": "comm_size", "uint64Val": "4096"},
      {"name": "pg_name", "stringVal": "tp_0"}, {"name": "involved_dim", "boolList": {"values": [true]}}]})");
  ConversionProgress progress;
  const Conversion made = upgrade_traces({json}, folder / "new", progress);
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("1 attributes that are lists")));
  EXPECT_EQ(made.counts.collectives, 1u);
  EXPECT_EQ(made.counts.bytes, 4096u);
  const std::vector<WrittenNode> nodes = read_written(trace_file(made.prefix, 0));
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].micros, 7u);
  EXPECT_TRUE(nodes[0].on_host);
  EXPECT_EQ(nodes[1].id, 3u);
  EXPECT_THAT(nodes[1].after, ElementsAre(0));
  EXPECT_EQ(nodes[1].kind, 2);
  EXPECT_EQ(nodes[1].size, 4096);
  EXPECT_EQ(nodes[1].group, "tp_0");
  EXPECT_EQ(TraceReader(trace_file(made.prefix, 0)).metadata()->version, "1.0.0");
}

}  // namespace
}  // namespace rankwire
