#include "converters/mlp.h"

#include <filesystem>

#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using Traffic = std::map<std::string, Amount>;

class Mlp : public ::testing::Test {
 protected:
  static MlpModel model() {
    return {.layers = 3, .width = 64, .batch = 10, .element = Bytes(2), .model_parallel = 2, .data_parallel = 2};
  }
  std::vector<std::vector<WrittenNode>> generate(const MlpModel& model) {
    const std::string prefix = fmt::format("{}{}", prefix_, ++sets_);  // a smaller set would not replace a larger one
    const GeneratedTraces traces = generate_mlp(model, prefix);
    expect_valid(traces, prefix);
    return read_generated(traces, prefix);
  }

  TemporaryFolder folder_;
  const std::string prefix_ = folder_ / "mlp";
  int sets_ = 0;
};

// b h / m = 320 elements of 2 bytes, b h = 640 in all layers but the first, h^2 / m = 2048. Replica 1 has ranks 2
// and 3.
TEST_F(Mlp, SendsTheClosedForms) {
  const auto ranks = generate(model());
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(
      collectives_of(ranks[3]),
      (Traffic{{"mp_1 ALL_GATHER", {3, 640}}, {"mp_1 REDUCE_SCATTER", {2, 1'280}}, {"dp_1 ALL_REDUCE", {3, 4'096}}}));
  EXPECT_EQ(
      collectives_of(ranks[2]),
      (Traffic{{"mp_1 ALL_GATHER", {3, 640}}, {"mp_1 REDUCE_SCATTER", {2, 1'280}}, {"dp_0 ALL_REDUCE", {3, 4'096}}}));
}

// Now replicas of a shard are neighbours: ranks 2 and 3 have shard 1.
TEST_F(Mlp, MayHaveReplicasForNeighbours) {
  MlpModel other = model();
  other.order = MlpModel::Order::kModelData;
  const auto ranks = generate(other);
  EXPECT_TRUE(collectives_of(ranks[2]).contains("mp_0 ALL_GATHER"));
  EXPECT_TRUE(collectives_of(ranks[2]).contains("dp_1 ALL_REDUCE"));
  EXPECT_TRUE(collectives_of(ranks[3]).contains("mp_1 ALL_GATHER"));
}

TEST_F(Mlp, OfOneDegreeSendsNothingForIt) {
  MlpModel other = model();
  other.data_parallel = 1;
  EXPECT_EQ(collectives_of(generate(other)[0]),
            (Traffic{{"mp_0 ALL_GATHER", {3, 640}}, {"mp_0 REDUCE_SCATTER", {2, 1'280}}}));
  other = model();
  other.model_parallel = 1;
  EXPECT_EQ(collectives_of(generate(other)[1]), (Traffic{{"dp_0 ALL_REDUCE", {3, 8'192}}}));
  other.data_parallel = 1;
  // Three forward, two of inputs, three of weights, the optimizer.
  EXPECT_EQ(generate(other)[0].size(), 9u);
}

// The gradient of the inputs of layer 2 travels while that of its weights is computed; layer 1 needs both.
TEST_F(Mlp, HidesTheGradientOfInputsBehindThatOfWeights) {
  const auto nodes = generate(model())[0];
  const auto id = [&](const char* name) { return node_named(nodes, name).id; };
  const uint64_t inputs = id("layer2.input.bwd");
  EXPECT_THAT(node_named(nodes, "layer2.input_gradient.reduce_scatter").after, ::testing::ElementsAre(inputs));
  EXPECT_THAT(node_named(nodes, "layer2.weight.bwd").after, ::testing::ElementsAre(inputs));
  EXPECT_THAT(node_named(nodes, "layer1.input.bwd").after,
              ::testing::ElementsAre(id("layer2.input_gradient.reduce_scatter"), id("layer2.weight.bwd")));
  EXPECT_THAT(node_named(nodes, "optimizer.step").after,
              ::testing::ElementsAre(id("layer2.gradient.all_reduce"), id("layer1.gradient.all_reduce"),
                                     id("layer0.gradient.all_reduce"), id("layer0.weight.bwd")));
}

// 2 b h^2 / m = 2 x 64 x 4096^2 / 2 = 1,073,741,824 flop at 100 Tflop/s: 10.7 us.
TEST_F(Mlp, TakesFlopsOverPeak) {
  MlpModel large = model();
  large.width = 4'096, large.batch = 64;
  EXPECT_EQ(node_named(generate(large)[0], "layer1.input.bwd").micros, 11u);
}

// 17 nodes of each of four ranks.
TEST_F(Mlp, StopsAtTheLimit) {
  NodeLimit enough(4 * 17, "there are more elsewhere"), less(4 * 17 - 1, "there are more elsewhere");
  EXPECT_EQ(generate_mlp(model(), {prefix_, &enough}).nodes, 4u * 17);
  expect_refused("more than 67 nodes, which take some 0 MB; there are more elsewhere", [&] {
    generate_mlp(model(), {prefix_, &less});
  });
}

TEST_F(Mlp, CountsWithoutWriting) {
  NodeLimit limit(UINT64_MAX, "");
  EXPECT_EQ(generate_mlp(model(), NodeFiles::only_counted(&limit)).nodes, 4u * 17);
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(prefix_).parent_path()));
}

TEST_F(Mlp, RefusesWhatCannotBeDivided) {
  const auto refuse = [&](const char* text, auto change) {
    MlpModel other = model();
    change(other);
    expect_refused(text, [&] { generate_mlp(other, prefix_); });
  };
  refuse("mlp: width 63 is not a multiple of model_parallel 2", [](MlpModel& m) { m.width = 63; });
  refuse("mlp: batch is 0, must be at least 1", [](MlpModel& m) { m.batch = 0; });
  refuse("mlp: more than 131072 ranks", [](MlpModel& m) { m.data_parallel = 1 << 17; });
  refuse("a size exceeds 2^63 - 1", [](MlpModel& m) { m.width = 1LL << 40; });
}

}  // namespace
}  // namespace rankwire
