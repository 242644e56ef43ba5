// ZeRO stage 2 and mixtures of experts.
#include "converters/transformer.h"
#include "converters/transformer_cost.h"
#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using Traffic = std::map<std::string, Amount>;

/// Four replicas, and eight experts of which two neighbours share out: b s k h = 32 x 2 x 64 elements.
TransformerModel mixture() {
  TransformerModel model;
  model.layers = 2;
  model.hidden = 64, model.sequence = 32, model.vocabulary = 100;
  model.micro_batches = 3;
  model.tensor_parallel = 1, model.data_parallel = 4;
  model.ffn = 96, model.gated = true, model.key_value = 16;
  model.experts = 8, model.experts_per_token = 2, model.expert_parallel = 2;
  return model;
}

class TransformerExperts : public ::testing::Test {
 protected:
  std::vector<std::vector<WrittenNode>> generate(const TransformerModel& model) {
    const GeneratedTraces traces = generate_transformer(model, prefix_);
    expect_valid(traces, prefix_);
    return read_generated(traces, prefix_);
  }

  TemporaryFolder folder_;
  const std::string prefix_ = folder_ / "moe";
};

// Tokens: 4,096 elements of 2 bytes, 4 times a layer and micro-batch. Attention and router have 2 x 64 x (64 + 16) +
// 64 x 8 = 10,752 parameters, a quarter of them 2,688; four experts 4 x 3 x 64 x 96 = 73,728, half of them 36,864. The
// embedding has 6,400. Rank 3 is the second of the second pair, and has the same experts as rank 1.
TEST_F(TransformerExperts, SendTheClosedForms) {
  const auto ranks = generate(mixture());
  EXPECT_EQ(collectives_of(ranks[3]), (Traffic{{"ep_1 ALL_TO_ALL", {24, 8'192}},
                                               {"dp_0 REDUCE_SCATTER", {2, 21'504}},
                                               {"dp_0 ALL_GATHER", {2, 5'376}},
                                               {"edp_1 REDUCE_SCATTER", {2, 147'456}},
                                               {"edp_1 ALL_GATHER", {2, 73'728}},
                                               {"dp_0 ALL_REDUCE", {1, 12'800}}}));
  EXPECT_TRUE(collectives_of(ranks[0]).contains("edp_0 REDUCE_SCATTER"));
  EXPECT_TRUE(collectives_of(ranks[1]).contains("ep_0 ALL_TO_ALL"));
}

TEST_F(TransformerExperts, OfAllReplicasTogetherExchangeNoGradients) {
  TransformerModel model = mixture();
  model.expert_parallel = 4;
  const Traffic traffic = collectives_of(generate(model)[2]);
  EXPECT_EQ(traffic.at("ep_0 ALL_TO_ALL"), (Amount{24, 8'192}));
  EXPECT_FALSE(traffic.contains("edp_2 REDUCE_SCATTER"));
  model.expert_parallel = 1;
  EXPECT_EQ(collectives_of(generate(model)[2]).at("edp_0 REDUCE_SCATTER"), (Amount{2, 294'912}));
}

TEST_F(TransformerExperts, StandInEveryStageAndShard) {
  TransformerModel model = mixture();
  model.tensor_parallel = model.pipeline_parallel = 2;
  // Rank 13 = (1 x 4 + 2) x 2 + 1: stage 1, replica 2, shard 1, so the pair (1 x 2 + 1) x 2 + 1 = 7 and, with the even
  // replicas, (1 x 2 + 0) x 2 + 1 = 5.
  const Traffic traffic = collectives_of(generate(model)[13]);
  EXPECT_EQ(traffic.at("ep_7 ALL_TO_ALL"), (Amount{12, 8'192}));
  EXPECT_TRUE(traffic.contains("edp_5 ALL_GATHER"));
}

TEST_F(TransformerExperts, ZeroStageTwoScattersGradientsInEveryMicroBatch) {
  TransformerModel model = mixture();
  model.zero = 2;
  const Traffic traffic = collectives_of(generate(model)[3]);
  EXPECT_EQ(traffic.at("dp_0 REDUCE_SCATTER"), (Amount{6, 21'504}));
  EXPECT_EQ(traffic.at("edp_1 REDUCE_SCATTER"), (Amount{6, 147'456}));
  EXPECT_EQ(traffic.at("dp_0 ALL_GATHER"), (Amount{2, 5'376}));
  EXPECT_EQ(traffic.at("dp_0 ALL_REDUCE"), (Amount{1, 12'800}));
}

// Mixtral-8x7B: 46,702,792,704 parameters (its model card's 46.7B), of which 65 layer norms of 4,096 are left out here.
TEST_F(TransformerExperts, HaveTheParametersOfMixtral) {
  TransformerModel model;
  model.layers = 32, model.hidden = 4'096, model.vocabulary = 32'000;
  model.tensor_parallel = model.data_parallel = 1;
  model.ffn = 14'336, model.gated = true, model.key_value = 1'024;
  model.experts = 8, model.experts_per_token = 2;
  const TransformerCost cost(model);
  const int64_t layers = 32 * (cost.layer_parameters() + cost.expert_parameters());
  EXPECT_EQ(layers + 2 * cost.embedding_parameters(), 46'702'792'704 - 65 * 4'096);
  // 12.9B of them are active: two experts of eight.
  const int64_t active = layers - 32 * cost.expert_parameters() / 8 * 6 + 2 * cost.embedding_parameters();
  EXPECT_EQ(active / 10'000'000, 1'287);
}

// A token does the work of two experts of 3 x 64 x 96 parameters: 2 x 32 x 2 x 18,432 flop.
TEST_F(TransformerExperts, ComputeForTheTokensThatTheyGet) {
  EXPECT_EQ(TransformerCost(mixture()).mlp().flops, 2'359'296);
  EXPECT_EQ(TransformerCost(mixture()).router().flops, 2 * 32 * 64 * 8);
}

TEST_F(TransformerExperts, AreRefusedWhereTheyCannotBeDivided) {
  const auto refuse = [&](const char* text, auto change) {
    TransformerModel other = mixture();
    change(other);
    expect_refused(text, [&] { generate_transformer(other, prefix_); });
  };
  refuse("experts 8 is not a multiple of expert_parallel 3", [](auto& m) { m.expert_parallel = 3; });
  refuse("data_parallel 6 is not a multiple of expert_parallel 4",
         [](auto& m) { m.data_parallel = 6, m.expert_parallel = 4; });
  refuse("experts_per_token 9 is above experts 8", [](auto& m) { m.experts_per_token = 9; });
  refuse("zero is 3, stages are 1 and 2", [](auto& m) { m.zero = 3; });
  refuse("key_value 15 is not a multiple of tensor_parallel 2",
         [](auto& m) { m.tensor_parallel = 2, m.key_value = 15; });
  refuse("ffn 97 is not a multiple of tensor_parallel 2", [](auto& m) { m.tensor_parallel = 2, m.ffn = 97; });
}

}  // namespace
}  // namespace rankwire
