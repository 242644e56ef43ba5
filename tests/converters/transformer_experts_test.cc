// ZeRO stage 2 and mixtures of experts.
#include <nlohmann/json.hpp>
#include <numeric>

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
  const int64_t layers = 32 * (cost.layer_parameters(0) + cost.expert_parameters());
  EXPECT_EQ(layers + 2 * cost.embedding_parameters(), 46'702'792'704 - 65 * 4'096);
  // 12.9B of them are active: two experts of eight.
  const int64_t active = layers - 32 * cost.expert_parameters() / 8 * 6 + 2 * cost.embedding_parameters();
  EXPECT_EQ(active / 10'000'000, 1'287);
}

// Each token goes to two experts of 3 x 64 x 96 parameters; replicas 0 and 1 exchange 32 x 2 tokens each.
class UnevenExperts : public TransformerExperts {
 protected:
  static constexpr int64_t kTokenBytes = 64 * 2, kFlopsOfToken = 2 * 3 * 64 * 96;

  static TransformerModel uneven() {
    TransformerModel model = mixture();
    model.routing = {.popularity = RoutingModel::Popularity::kZipf, .exponent = 1.5};
    return model;
  }
  static std::vector<int64_t> splits_of(const WrittenNode& node) {
    return nlohmann::json::parse(node.splits).get<std::vector<int64_t>>();
  }
  static int64_t sum(const std::vector<int64_t>& parts) { return std::accumulate(parts.begin(), parts.end(), 0l); }
};

TEST_F(UnevenExperts, SendWhatTheOtherEndsReceive) {
  const auto ranks = generate(uneven());
  int64_t computed = 0, differences = 0;
  for (const char* layer : {"mb0.layer0", "mb2.layer1"}) {
    const auto of = [&](uint32_t rank, const char* what) {
      return splits_of(node_named(ranks[rank], layer + std::string(what)));
    };
    for (uint32_t rank = 0; rank < 4; ++rank) {
      const std::vector<int64_t> sent = of(rank, ".dispatch.fwd.all_to_all");
      const std::vector<int64_t> back = of(rank, ".combine.fwd.all_to_all");
      ASSERT_EQ(sent.size(), 2u);
      EXPECT_EQ(sum(sent), 32 * 2 * kTokenBytes);  // no token is dropped
      for (uint32_t other = 0; other < 2; ++other)
        EXPECT_EQ(back[other], of(rank / 2 * 2 + other, ".dispatch.fwd.all_to_all")[rank % 2]);
      EXPECT_EQ(of(rank, ".combine.bwd.all_to_all"), sent);
      EXPECT_EQ(of(rank, ".dispatch.bwd.all_to_all"), back);
      EXPECT_EQ(node_named(ranks[rank], layer + std::string(".combine.fwd.all_to_all")).size, sum(back));
      // Computation is that of the tokens that came.
      const int64_t flops = node_named(ranks[rank], layer + std::string(".mlp.fwd")).flops;
      EXPECT_EQ(flops, sum(back) / kTokenBytes * kFlopsOfToken);
      EXPECT_EQ(node_named(ranks[rank], layer + std::string(".mlp.bwd")).flops, 2 * flops);
      computed += flops, differences += sum(back) != sum(sent) ? 1 : 0;
    }
  }
  EXPECT_EQ(computed, 2 * 4 * 64 * kFlopsOfToken);
  EXPECT_GT(differences, 0);
}

TEST_F(UnevenExperts, AreTheSameInEveryShardWithoutSequenceParallelism) {
  TransformerModel model = uneven();
  model.tensor_parallel = 2;
  const auto ranks = generate(model);
  const auto dispatch = [&](uint32_t rank) {
    return node_named(ranks[rank], "mb1.layer1.dispatch.fwd.all_to_all").splits;
  };
  EXPECT_EQ(dispatch(2), dispatch(3));
  model.sequence_parallel = true;
  const auto parted = generate(model);
  // Each shard routes half of the tokens, and has those of the other one before it computes.
  int64_t tokens = 0;
  const std::string gather = "mb1.layer1.mlp.fwd.all_gather";
  for (const uint32_t rank : {0u, 1u}) {
    const WrittenNode& node = node_named(parted[rank], "mb1.layer1.dispatch.fwd.all_to_all");
    EXPECT_EQ(node.size, 16 * 2 * kTokenBytes);
    EXPECT_EQ(node_named(parted[rank], gather).splits, node_named(parted[1 - rank], gather).splits);
    EXPECT_EQ(splits_of(node_named(parted[rank], gather))[rank], node_named(parted[rank], gather).size);
    tokens += node_named(parted[rank], "mb1.layer1.combine.fwd.all_to_all").size / kTokenBytes;
  }
  EXPECT_EQ(node_named(parted[0], "mb1.layer1.mlp.fwd").flops, tokens * kFlopsOfToken / 2);  // half of the width
}

// Capacity 1: of 32 tokens with two experts each expert of eight takes 8 at most.
TEST_F(UnevenExperts, DropTokensAboveTheirCapacity) {
  TransformerModel model = uneven();
  model.routing.capacity = 1;
  const auto ranks = generate(model);
  const std::vector<int64_t> sent = splits_of(node_named(ranks[0], "mb0.layer0.dispatch.fwd.all_to_all"));
  EXPECT_LT(sum(sent), 32 * 2 * kTokenBytes);
  EXPECT_THAT(sent, ::testing::Each(::testing::Le(4 * 8 * kTokenBytes)));
}

// Layers 0 and 1 are dense, and of each two others the second one has experts. A shared expert is one more.
TEST_F(TransformerExperts, StandInSomeLayersAlone) {
  TransformerModel model = mixture();
  model.layers = 6, model.dense_layers = 2, model.expert_interval = 2;
  model.expert_ffn = 32, model.shared_experts = 1;
  const auto ranks = generate(model);
  EXPECT_EQ(collectives_of(ranks[0]).at("ep_0 ALL_TO_ALL"), (Amount{2 * 4 * 3, 8'192}));
  for (const char* layer : {"mb0.layer0", "mb0.layer1", "mb0.layer2", "mb0.layer4"})
    EXPECT_EQ(node_named(ranks[0], layer + std::string(".mlp.fwd")).flops, 32 * 2 * 3 * 64 * 96) << layer;
  for (const char* layer : {"mb0.layer3", "mb0.layer5"}) {
    EXPECT_EQ(node_named(ranks[0], layer + std::string(".mlp.fwd")).flops, 64 * 2 * 3 * 64 * 32) << layer;
    EXPECT_EQ(node_named(ranks[0], layer + std::string(".shared.fwd")).flops, 32 * 2 * 3 * 64 * 32) << layer;
  }
  // The shared expert works while tokens travel, and the others wait for both.
  const WrittenNode& shared = node_named(ranks[0], "mb0.layer3.shared.fwd");
  const WrittenNode& dispatch = node_named(ranks[0], "mb0.layer3.dispatch.fwd.all_to_all");
  EXPECT_FALSE(depends(ranks[0], shared, dispatch));
  EXPECT_TRUE(depends(ranks[0], node_named(ranks[0], "mb0.layer3.mlp.fwd"), shared));
  EXPECT_TRUE(depends(ranks[0], node_named(ranks[0], "mb0.layer3.mlp.fwd"), dispatch));
}

// A token does the work of two experts of 3 x 64 x 96 parameters: 2 x 32 x 2 x 18,432 flop.
TEST_F(TransformerExperts, ComputeForTheTokensThatTheyGet) {
  EXPECT_EQ(TransformerCost(mixture()).experts(2 * 32).flops, 2'359'296);
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
  refuse("zero is 4, stages are 0 to 3", [](auto& m) { m.zero = 4; });
  refuse("routing needs 'experts' above 1", [](auto& m) {
    m.experts = m.experts_per_token = m.expert_parallel = 1;
    m.routing.seed = 2;
  });
  refuse("routing.file is required by 'popularity: matrix'",
         [](auto& m) { m.routing.popularity = RoutingModel::Popularity::kRecorded; });
  refuse("routing.drift is for 'popularity: zipf'", [](auto& m) { m.routing.drift = 2; });
  const auto limited = [](auto& m) {
    m.expert_parallel = 4, m.routing.popularity = RoutingModel::Popularity::kZipf;
    m.routing.node_limit = 2, m.routing.node_ranks = 2;
  };
  refuse("routing.node_ranks 3 does not divide expert_parallel 4",
         [&](auto& m) { limited(m), m.routing.node_ranks = 3; });
  refuse("routing.node_limit 3 is above the 2 nodes of expert_parallel 4",
         [&](auto& m) { limited(m), m.routing.node_limit = 3; });
  refuse("routing.node_limit 2 does not divide experts_per_token 3",
         [&](auto& m) { limited(m), m.experts_per_token = 3; });
  refuse("routing.node_limit 1 leaves 5 experts of a token in each node, which has 4",
         [&](auto& m) { limited(m), m.experts_per_token = 5, m.routing.node_limit = 1; });
  refuse("routing.node_limit is for 'popularity: zipf'",
         [&](auto& m) { limited(m), m.routing.popularity = RoutingModel::Popularity::kBalanced; });
  refuse("key_value 15 is not a multiple of tensor_parallel 2",
         [](auto& m) { m.tensor_parallel = 2, m.key_value = 15; });
  refuse("ffn 97 is not a multiple of tensor_parallel 2", [](auto& m) { m.tensor_parallel = 2, m.ffn = 97; });
}

}  // namespace
}  // namespace rankwire
