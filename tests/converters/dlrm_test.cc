#include "converters/dlrm.h"

#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file

class Dlrm : public ::testing::Test {
 protected:
  std::vector<std::vector<WrittenNode>> generate(const DlrmModel& model) {
    const GeneratedTraces traces = generate_dlrm(model, prefix_);
    expect_valid(traces, prefix_);
    return read_generated(traces, prefix_);
  }

  TemporaryFolder folder_;
  const std::string prefix_ = folder_ / "dlrm";
};

// b T d = 128 x 8 x 64 = 65,536 elements of 4 bytes go to others, and as many gradients come back.
TEST_F(Dlrm, ExchangesEmbeddings) {
  const auto ranks = generate(DlrmModel());
  ASSERT_EQ(ranks.size(), 4u);
  for (const auto& nodes : ranks) EXPECT_EQ(collectives_of(nodes).at("all ALL_TO_ALL"), (Amount{2, 262'144}));
}

// Bottom: 13 x 512, 512 x 256, 256 x 64. Nine vectors have 36 pairs, so the top has 64 + 36 = 100 inputs: 100 x 512,
// 512 x 256, 256 x 1. In bytes:
TEST_F(Dlrm, ReducesTheGradientsOfEachLayerOnce) {
  const std::map<std::string, int64_t> expected = {{"bottom0", 26'624}, {"bottom1", 524'288}, {"bottom2", 65'536},
                                                   {"top0", 204'800},   {"top1", 524'288},    {"top2", 1'024}};
  for (const auto& nodes : generate(DlrmModel())) {
    std::map<std::string, int64_t> sizes;
    for (const WrittenNode& node : nodes) {
      if (node.kind != chakra::ALL_REDUCE) continue;
      EXPECT_TRUE(sizes.emplace(node.name.substr(0, node.name.find('.')), node.size).second) << node.name;
    }
    EXPECT_EQ(sizes, expected);
  }
}

// The vectors travel while the bottom MLP computes; the interaction needs both. Their gradients travel beside its
// backward pass.
TEST_F(Dlrm, OverlapsTheExchangeWithTheBottomMlp) {
  const auto nodes = generate(DlrmModel())[2];
  const auto id = [&](const char* name) { return node_named(nodes, name).id; };
  EXPECT_THAT(node_named(nodes, "embedding.all_to_all").after, ::testing::ElementsAre(id("embedding.lookup")));
  EXPECT_THAT(node_named(nodes, "bottom0.fwd").after, ::testing::ElementsAre(id("embedding.lookup")));
  EXPECT_THAT(node_named(nodes, "interaction.fwd").after,
              ::testing::ElementsAre(id("bottom2.fwd"), id("embedding.all_to_all")));
  EXPECT_THAT(node_named(nodes, "bottom2.bwd").after, ::testing::ElementsAre(id("interaction.bwd")));
  EXPECT_THAT(node_named(nodes, "embedding.update").after,
              ::testing::ElementsAre(id("bottom0.bwd"), id("embedding.gradient.all_to_all")));
  EXPECT_EQ(node_named(nodes, "optimizer.step").after.size(), 7u);  // the update and six reductions
}

// Of 6 layers forward and backward, of the interaction, and of look-up, update and optimizer.
TEST_F(Dlrm, OfOneRankOnlyComputes) {
  DlrmModel model;
  model.ranks = 1;
  const auto nodes = generate(model)[0];
  EXPECT_TRUE(collectives_of(nodes).empty());
  EXPECT_EQ(nodes.size(), 12u + 2 + 3);
}

TEST_F(Dlrm, RefusesWhatCannotBeDivided) {
  const auto refuse = [&](const char* text, auto change) {
    DlrmModel other;
    change(other);
    expect_refused(text, [&] { generate_dlrm(other, prefix_); });
  };
  refuse("dlrm: tables 9 is not a multiple of ranks 4", [](DlrmModel& m) { m.tables = 9; });
  refuse("dlrm: the last layer of bottom has 64 outputs, but an embedding has 32",
         [](DlrmModel& m) { m.embedding = 32; });
  refuse("dlrm: an MLP without layers", [](DlrmModel& m) { m.top.clear(); });
  refuse("dlrm: the width of a layer is 0", [](DlrmModel& m) { m.top.front() = 0; });
  refuse("a size exceeds 2^63 - 1", [](DlrmModel& m) { m.batch = INT64_MAX; });
}

}  // namespace
}  // namespace rankwire
