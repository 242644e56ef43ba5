#include "converters/flexflow.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "proto/chakra.pb.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_named;
using testing::read_written;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using testing::WrittenNode;

constexpr std::string_view kGraph = R"(digraph taskgraph {
  node [shape=record];
  node0 [label="{ npu_id=0 | forward | - | COMP_NODE | time=0.0000015 }"];
  node2 -> node3 [color=red];
  node1 [label="{ npu_id=0 | transfer | - | COMM_SEND_RECV_NODE | src=0 | dst=1 | size=4096 }",shape=record];
  node0 -> node1 -> node2;
  node2 [label="{ npu_id=1 | backward | x | COMP_NODE | run_time=0.25 }"];
  node3 [label="{npu_id=0|update|?|COMP_NODE|t=0.0000005}"];
  node0 -> node3;
}
)";

class Flexflow : public ::testing::Test {
 protected:
  void convert(std::string_view text) {
    ConversionProgress progress;
    made_ = convert_flexflow(testing::write_text(folder_ / "graph.dot", std::string(text)), folder_ / "out", progress);
    EXPECT_EQ(progress.done, made_.ranks);
  }
  std::vector<WrittenNode> nodes(uint32_t rank) const { return read_written(trace_file(made_.prefix, rank)); }
  static std::string error_of(std::string_view text) {
    try {
      parse_flexflow("graph.dot", text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

// 1.5 us and 0.5 us of rank 0 become 1 and 1.
TEST_F(Flexflow, MakesATraceOfEachNpu) {
  convert(kGraph);
  ASSERT_EQ(made_.ranks, 2u);
  const auto first = nodes(0), second = nodes(1);
  const WrittenNode &forward = node_named(first, "forward"), &sent = node_named(first, "transfer");
  EXPECT_EQ(forward.type, static_cast<uint32_t>(chakra::COMP_NODE));
  EXPECT_EQ(forward.micros, 1u);
  EXPECT_EQ(sent.type, static_cast<uint32_t>(chakra::COMM_SEND_NODE));
  EXPECT_EQ(sent.destination, 1);
  EXPECT_EQ(sent.size, 4096);
  EXPECT_THAT(sent.after, ElementsAre(forward.id));
  EXPECT_EQ(node_named(first, "update").micros, 1u);
  EXPECT_THAT(node_named(first, "update").after, ElementsAre(forward.id));
  const WrittenNode &received = node_named(second, "transfer"), &backward = node_named(second, "backward");
  EXPECT_EQ(received.type, static_cast<uint32_t>(chakra::COMM_RECV_NODE));
  EXPECT_EQ(received.source, 0);
  EXPECT_EQ(received.tag, sent.tag);
  EXPECT_EQ(backward.micros, 250'000u);
  EXPECT_THAT(backward.after, ElementsAre(received.id));
  ASSERT_THAT(made_.warnings, SizeIs(1));
  EXPECT_THAT(made_.warnings[0], HasSubstr("1 edges between computations of different ranks"));
}

// node1 -> node2: rank 0 sends to 1 and then to 2, and rank 1 receives before it sends.
TEST_F(Flexflow, TransfersDependOnEachOtherWhereTheyMeet) {
  const FlexflowGraph graph = parse_flexflow("graph.dot", R"(
    a [label="{ npu_id=0 | a | - | COMM_SEND_RECV_NODE | src=0 | dst=1 | size=8 }"];
    b [label="{ npu_id=0 | b | - | COMM_SEND_RECV_NODE | src=0 | dst=2 | size=8 }"];
    c [label="{ npu_id=1 | c | - | COMM_SEND_RECV_NODE | src=1 | dst=2 | size=8 }"];
    a -> b -> c;
    a -> c;)");
  ASSERT_THAT(graph.ranks, SizeIs(3));
  EXPECT_THAT(graph.ranks[0].operations[1].after, ElementsAre(0u));
  EXPECT_THAT(graph.ranks[1].operations[1].after, ElementsAre(0u));
  EXPECT_THAT(graph.ranks[2].operations[0].after, IsEmpty());
  EXPECT_THAT(graph.ranks[2].operations[1].after, ElementsAre(0u));
  EXPECT_EQ(graph.edges_between_ranks, 0u);
}

TEST_F(Flexflow, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(error_of("digraph {\n}\n"), HasSubstr("graph.dot:2: the graph has no tasks"));
  const auto task = [](const char* cells) { return fmt::format("\nn [label=\"{{ {} }}\"];\n", cells); };
  for (const auto& [text, message] : {
           std::pair(task("npu_id=0 | a | -"),
                     "graph.dot:2: a task has cells npu_id=I | name | - | type | ..., not 3 cells"),
           std::pair(task("npu_id=0 | a | - | MEM_NODE | 1"), "graph.dot:2: \"MEM_NODE\" is no type of task"),
           std::pair(task("npu_id=x | a | - | COMP_NODE | t=1"), "npu_id is \"x\", not 0 to 131071"),
           std::pair(task("npu_id=0 | a | - | COMP_NODE"), "time is missing"),
           std::pair(task("npu_id=0 | a | - | COMP_NODE | t=-1"), "the time is \"-1\", not 0 to 1000000 s"),
           std::pair(task("npu_id=0 | a | - | COMP_NODE | t=nan"), "the time is \"nan\""),
           std::pair(task("npu_id=0 | a | - | COMM_SEND_RECV_NODE | src=1 | dst=1 | size=1"), "src and dst are both 1"),
           std::pair(task("npu_id=0 | a | - | COMM_SEND_RECV_NODE | src=0 | dst=1"), "size is missing"),
           std::pair(task("npu_id=0 | a | - | COMP_NODE | t=1") + task("npu_id=0 | a | - | COMP_NODE | t=1"),
                     "graph.dot:4: task n stands here for the second time"),
           std::pair(task("npu_id=0 | a | - | COMP_NODE | t=1") + "n -> m;", "graph.dot:3: there is no task m"),
           std::pair(task("npu_id=0 | a | - | COMP_NODE | t=1") + "n -> ;", "graph.dot:3: an edge is written a -> b"),
           std::pair(std::string("n [label=\"{ npu_id=0 | a"), "graph.dot:1: the label has no end"),
       })
    EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
  EXPECT_THROW(convert("a [label=\"{ npu_id=0 | a | - | COMP_NODE | t=1 }\"];\na -> a;\n"), Error);
}

}  // namespace
}  // namespace rankwire
