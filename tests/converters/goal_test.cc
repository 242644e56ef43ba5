#include "converters/goal.h"

#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "proto/chakra.pb.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::node_named;
using testing::read_written;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using testing::WrittenNode;

class Goal : public ::testing::Test {
 protected:
  std::vector<std::vector<WrittenNode>> convert(const std::string& text) {
    ConversionProgress progress;
    made_ = convert_goal(testing::write_text(folder_ / "s.goal", text), folder_ / "out", progress);
    std::vector<std::vector<WrittenNode>> ranks;
    for (uint32_t rank = 0; rank < made_.ranks; ++rank) ranks.push_back(read_written(trace_file(made_.prefix, rank)));
    return ranks;
  }
  std::string error_of(const std::string& text) {
    try {
      convert("num_ranks 2\nrank 0 {\n" + text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

TEST_F(Goal, OperationsAndTheirOrder) {
  const auto ranks = convert(R"(num_ranks 2 // two
/* of which
   one */ rank 0 {
l1: calc 1500 cpu 1
l2: send 4096b to 1 tag 3 cpu 0 nic 1
l3: calc 600
calc 5
l2 requires l1
l3 irequires l2
}
rank 1 { /* the other */
l1: recv 4096b from 0 tag 3
})");
  ASSERT_THAT(ranks, SizeIs(2));
  ASSERT_THAT(ranks[0], SizeIs(4));
  const WrittenNode& send = node_named(ranks[0], "l2");
  EXPECT_EQ(send.type, uint32_t{chakra::COMM_SEND_NODE});
  EXPECT_EQ(send.destination, 1);
  EXPECT_EQ(send.tag, 3);
  EXPECT_EQ(send.size, 4096);
  const WrittenNode& first = node_named(ranks[0], "l1");
  EXPECT_THAT(send.after, ElementsAre(first.id));
  EXPECT_THAT(node_named(ranks[0], "l3").after, ElementsAre(first.id));  // when the send begins, not when it ends
  // 1.5 us, 0.6 us and 5 ns: 2.1 us in order.
  EXPECT_EQ(first.micros + node_named(ranks[0], "l3").micros, 2u);
  EXPECT_EQ(node_named(ranks[1], "l1").source, 0);
}

TEST_F(Goal, WhatComesLaterInTheTextMayComeBefore) {
  const auto ranks = convert("num_ranks 2\nrank 1 {\na: calc 1\nb: calc 1\nc: calc 1\na requires c\n}\n");
  EXPECT_THAT(ranks[0], ElementsAre(::testing::Field(&WrittenNode::name, "idle")));
  ASSERT_THAT(ranks[1], SizeIs(3));
  EXPECT_EQ(ranks[1][2].name, "a");
  EXPECT_THAT(ranks[1][2].after, ElementsAre(node_named(ranks[1], "c").id));
}

TEST_F(Goal, ThereAndBackAgainIsTheSame) {
  const std::string text = R"(num_ranks 2
rank 0 {
n0: calc 2000
n1: send 10b to 1 tag 7
n2: recv 20b from 1 tag 0
n1 requires n0
n2 requires n0
n2 requires n1
}
rank 1 {
n0: recv 10b from 0 tag 7
n1: send 20b to 0 tag 0
}
)";
  convert(text);
  ConversionProgress progress;
  const Conversion back =
      convert_to_goal({trace_file(made_.prefix, 0), trace_file(made_.prefix, 1)}, {}, folder_ / "goal", progress);
  std::ifstream file(back.prefix);
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(file), {}}), text);
  EXPECT_EQ(back.counts.sends, 2u);
  EXPECT_EQ(back.counts.bytes, 30u);
}

// A collective of two steps between computations, and one that only another rank takes part in.
TEST_F(Goal, CollectivesBecomeWhatTheyAreExpandedTo) {
  {
    NodeWriter nodes((folder_ / "t.0.et").string());
    const NodeWriter::Id before = nodes.compute("a", 3, 0, Bytes(0), {});
    const NodeWriter::Id sum = nodes.collective("sum", chakra::ALL_REDUCE, "0", Bytes(8), std::array{before});
    const NodeWriter::Id other = nodes.lasting(2).collective("host", chakra::ALL_REDUCE, "0", Bytes(8), {});
    nodes.compute("b", 1, 0, Bytes(0), std::array{sum, other});
    nodes.close();
  }
  const ExpandCollective expand = [](uint32_t rank, uint32_t place) -> std::optional<GoalCollective> {
    EXPECT_EQ(rank, 0u);
    if (place != 1) return std::nullopt;
    GoalCollective made{.after = {7}};
    made.operations.push_back({.kind = GoalOperation::Kind::kSend, .amount = 8, .peer = 1, .tag = 5});
    made.operations.push_back({.kind = GoalOperation::Kind::kReceive, .amount = 8, .peer = 1, .tag = 6});
    made.operations.push_back({.kind = GoalOperation::Kind::kCompute, .after = {1}});
    return made;
  };
  ConversionProgress progress;
  const Conversion made = convert_to_goal({folder_ / "t.0.et"}, expand, folder_ / "goal", progress);
  std::ifstream file(made.prefix);
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(file), {}}),
            "num_ranks 1\nrank 0 {\nn0: calc 3000\nn1s0: send 8b to 1 tag 5\nn1s1: recv 8b from 1 tag 6\n"
            "n1s2: calc 0\nn1: calc 0\nn2: calc 2000\nn3: calc 1000\nn1s2 requires n1s1\nn1 requires n1s0\n"
            "n1 requires n1s2\nn1s0 requires n0\nn1s0 requires n7\nn1s1 requires n0\nn1s1 requires n7\n"
            "n3 requires n1\nn3 requires n2\n}\n");
  EXPECT_EQ(made.counts.collectives, 1u);
  EXPECT_EQ(made.counts.sends, 1u);
  EXPECT_EQ(made.counts.bytes, 8u);
}

TEST_F(Goal, WhatFailsLeavesNothingBehind) {
  EXPECT_THAT(error_of("calc 1\n}\nrank 1 {\nwait\n}\n"), HasSubstr("s.goal:6"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  {
    NodeWriter nodes((folder_ / "t.0.et").string());
    nodes.send("out", 0, 7, 0, Bytes(8), {});
    nodes.close();
  }
  ConversionProgress progress;
  EXPECT_THAT([&] { convert_to_goal({folder_ / "t.0.et"}, {}, folder_ / "goal", progress); },
              ::testing::ThrowsMessage<Error>(HasSubstr("comm_dst is 7, not 0 to 0")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "goal"));
  std::ofstream(folder_ / "none.0.et") << "";
  EXPECT_THAT([&] { convert_to_goal({folder_ / "none.0.et"}, {}, folder_ / "goal", progress); },
              ::testing::ThrowsMessage<Error>(HasSubstr("none.0.et: has no nodes")));
}

// A receive may be larger than its message for LogGOPSim; a run wants both ends alike.
TEST_F(Goal, UnequalEndsAreTold) {
  convert(
      "num_ranks 2\nrank 0 {\nsend 10b to 1 tag 5\nsend 4b to 1\n}\nrank 1 {\nrecv 16b from 0 tag 5\nrecv 4b from "
      "0\n}\n");
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("rank 0 sends 0 messages more and 6 B less to rank 1 with tag 5")));
  std::filesystem::remove_all(folder_ / "out");
  convert("num_ranks 2\nrank 0 {\nsend 10b to 1 tag 5\n}\n");
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("sends 1 messages more and 10 B more to rank 1")));
}

TEST_F(Goal, WrongSchedulesAreNamedByLine) {
  EXPECT_THAT(error_of("l1: send 10b to 2\n}\n"), HasSubstr("s.goal:3: the peer is \"2\", not 0 to 1"));
  EXPECT_THAT(error_of("l1: send 10 to 1\n}\n"), HasSubstr("send <bytes>b to <rank>"));
  EXPECT_THAT(error_of("l1: recv 10b from -1\n}\n"), HasSubstr("any source"));
  EXPECT_THAT(error_of("l1: recv 10b from 1 tag -1\n}\n"), HasSubstr("any tag"));
  EXPECT_THAT(error_of("send 10b to 0\n}\n"), HasSubstr("communicates with itself"));
  EXPECT_THAT(error_of("calc 10 nic 1\n}\n"), HasSubstr("\"nic\" is no option of calc"));
  EXPECT_THAT(error_of("calc\n}\n"), HasSubstr("nanoseconds"));
  EXPECT_THAT(error_of("l1: calc 1\nl1: calc 2\n}\n"), HasSubstr("s.goal:4: label \"l1\" for the second time"));
  EXPECT_THAT(error_of("l1: calc 1\nl1 requires l2\n}\n"), HasSubstr("has the label \"l2\""));
  EXPECT_THAT(error_of("a: calc 1\nb: calc 1\na requires b\nb requires a\n}\n"), HasSubstr("require each other"));
  EXPECT_THAT(error_of("wait 5\n}\n"), HasSubstr("send, recv, calc"));
  EXPECT_THAT(error_of("calc 5\n"), HasSubstr("rank 0 does not end"));
  EXPECT_THAT(error_of("}\nrank 0 {\n"), HasSubstr("rank 0 for the second time"));
  EXPECT_THAT(error_of("}\ncalc 1\n"), HasSubstr("\"calc\" outside a rank"));
}

}  // namespace
}  // namespace rankwire
