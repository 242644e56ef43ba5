// Impairments in the words of a workload, found in its plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/assembly/impairments.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

/// Four ranks: rings of reduce-scatter and all-gather of two layers, 12 x 64^2 x 2 B each, and all-reduce of the
/// embedding. Of a ring of four, each rank sends three messages a pass to the next.
RunConfig run_of_four() {
  return tiny_run(1, 4);
}

/// The messages of the only rule.
std::vector<MessageRange> chosen(const ImpairmentConfig& rule, Setup& setup) {
  const testing::TemporaryFolder folder;
  RunConfig config = run_of_four();
  config.impairments = {rule};
  prepare(setup, config, folder.path());
  return setup.impairments.at(0).messages.value();
}

TEST(ImpairmentRules, ARankAndItsPeerAreWholeConnections) {
  rankwire::Setup setup;
  const auto ranges = chosen({.rank = 1, .peer = 2}, setup);
  ASSERT_EQ(ranges.size(), 1u);
  const Connection& connection = setup.plan.transport.connections[ranges[0].connection.value];
  EXPECT_EQ(connection.source, RankId(1));
  EXPECT_EQ(connection.destination, RankId(2));
  EXPECT_EQ(ranges[0].last, MessageRange::kWhole);
}

TEST(ImpairmentRules, AnOperationIsItsMessagesOnEachConnection) {
  rankwire::Setup setup;
  const auto ranges = chosen({.operation = "layer1.gradient.reduce_scatter"}, setup);
  ASSERT_EQ(ranges.size(), 4u) << "each rank to the next";
  for (const MessageRange& range : ranges) {
    EXPECT_EQ(range.last - range.first, 2u);
    // Both ends of each are that operation's.
    const Connection& connection = setup.plan.transport.connections[range.connection.value];
    for (uint32_t index = range.first; index <= range.last; ++index) {
      const MessageEnds ends = setup.plan.ends(range.connection, index);
      EXPECT_EQ(setup.workload.ranks[connection.source.value].nodes[ends.source_node].name,
                "layer1.gradient.reduce_scatter");
    }
  }
}

TEST(ImpairmentRules, AStepOfAnOperationIsOneMessageOfAPair) {
  rankwire::Setup setup;
  const auto all = chosen({.rank = 2, .peer = 3, .operation = "embedding*all_reduce"}, setup);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].last - all[0].first, 5u) << "two passes";
  rankwire::Setup other;
  const auto step = chosen({.rank = 2, .peer = 3, .operation = "embedding*all_reduce", .step = 4}, other);
  ASSERT_EQ(step.size(), 1u);
  EXPECT_EQ(step[0].first, all[0].first + 4);
  EXPECT_EQ(step[0].last, step[0].first);
  rankwire::Setup third;
  EXPECT_EQ(chosen({.rank = 2, .peer = 3, .operation = "embedding*all_reduce", .message = 4}, third), step);
}

TEST(ImpairmentRules, WithoutConditionsOnMessagesAllPacketsAreMeant) {
  rankwire::Setup setup;
  const testing::TemporaryFolder folder;
  RunConfig config = run_of_four();
  config.impairments = {{.action = ImpairmentActionName::kForgeNak, .port = "p2"}};
  prepare(setup, config, folder.path());
  EXPECT_FALSE(setup.impairments[0].messages.has_value());
  EXPECT_EQ(setup.impairments[0].port, PortId(2));
  EXPECT_EQ(setup.impairments[0].packets, PacketClass::kData) << "forged answers are to data";
}

TEST(ImpairmentRules, ErrorsNameThePlaceInTheFile) {
  ImpairmentConfig rule{.rank = 4};
  rule.places = {{"", "run.yaml:7"}, {"rank", "run.yaml:9"}};
  rankwire::Setup setup;
  try {
    chosen(rule, setup);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "run.yaml:9: impairments[0].rank: there is no rank 4; the workload has ranks 0 .. 3");
  }
}

}  // namespace
}  // namespace rankwire
