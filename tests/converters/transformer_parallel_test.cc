// Sequence and context parallelism, ZeRO, hybrid sharding and pipelines of transformers.
#include <functional>
#include <numeric>

#include "converters/model_presets.h"
#include "converters/transformer.h"
#include "converters/transformer_cost.h"
#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using Traffic = std::map<std::string, Amount>;
using Nodes = std::vector<WrittenNode>;

/// Two layers of 12 x 64^2 = 49,152 parameters, as many as the embedding has; b s h e = 32 x 64 x 2 = 4,096 B.
TransformerModel two_layers() {
  TransformerModel model;
  model.layers = 2;
  model.hidden = 64, model.sequence = 32, model.vocabulary = 768;
  model.micro_batches = 2;
  model.tensor_parallel = model.data_parallel = 1;
  return model;
}

class TransformerParallel : public ::testing::Test {
 protected:
  std::vector<Nodes> generate(const TransformerModel& model) {
    const std::string prefix = folder_ / ("set" + std::to_string(sets_++));  // another one may have more ranks
    const GeneratedTraces traces = generate_transformer(model, prefix);
    expect_valid(traces, prefix);
    std::vector<Nodes> ranks;
    for (uint32_t rank = 0; rank < traces.ranks; ++rank) ranks.push_back(read_written(trace_file(prefix, rank)));
    return ranks;
  }
  /// Of all ranks, without the optimizer, which ZeRO divides.
  int64_t flops(const TransformerModel& model) {
    int64_t sum = 0;
    for (const Nodes& nodes : generate(model)) {
      for (const WrittenNode& node : nodes) sum += node.flops > 0 && node.name != "optimizer.step" ? node.flops : 0;
    }
    return sum;
  }

  TemporaryFolder folder_;
  int sets_ = 0;
};

/// "send 512" and "receive 512" with how many there are.
std::map<std::string, int> messages(const Nodes& nodes) {
  std::map<std::string, int> found;
  for (const WrittenNode& node : nodes) {
    if (node.type == chakra::COMM_SEND_NODE) ++found["send " + std::to_string(node.size)];
    if (node.type == chakra::COMM_RECV_NODE) ++found["receive " + std::to_string(node.size)];
  }
  return found;
}

// A layer: an all-gather and a reduce-scatter around each of two blocks in either pass, and two more all-gathers; the
// embedding's output is scattered and its gradient gathered, the logits' input gathered twice and its gradient
// scattered.
TEST_F(TransformerParallel, SequencesAreGatheredAndScatteredAroundBlocks) {
  TransformerModel model = two_layers();
  model.tensor_parallel = 2, model.sequence_parallel = true, model.micro_batches = 1;
  const auto ranks = generate(model);
  EXPECT_EQ(collectives_of(ranks[1]),
            (Traffic{{"tp_0 ALL_GATHER", {2 * 6 + 3, 2'048}}, {"tp_0 REDUCE_SCATTER", {2 * 4 + 2, 4'096}}}));
  // The further gathering is beside the computation, and what follows waits for both.
  const WrittenNode& again = node_named(ranks[0], "mb0.layer1.mlp.bwd.input.all_gather");
  EXPECT_FALSE(depends(ranks[0], node_named(ranks[0], "mb0.layer1.mlp.bwd"), again));
  EXPECT_TRUE(depends(ranks[0], node_named(ranks[0], "mb0.layer1.attention.bwd"), again));
  model.pipeline_parallel = 2;
  EXPECT_EQ(messages(generate(model)[0]), (std::map<std::string, int>{{"send 2048", 1}, {"receive 2048", 1}}));
}

// Of 8 tokens each: keys and values of 64 elements, 2 x 8 x 64 x 2 B. Three times forward, three times backward with
// gradients four times, in two layers.
TEST_F(TransformerParallel, KeysAndValuesGoRound) {
  TransformerModel model = two_layers();
  model.context_parallel = 4, model.micro_batches = 1;
  for (const Nodes& nodes : generate(model))
    EXPECT_EQ(messages(nodes), (std::map<std::string, int>{{"send 2048", 20}, {"receive 2048", 20}}));
  model.heads = 8, model.key_value_heads = 2;  // of 8 elements
  const auto ranks = generate(model);
  EXPECT_EQ(messages(ranks[2]), (std::map<std::string, int>{{"send 512", 20}, {"receive 512", 20}}));
  const WrittenNode& sent = node_named(ranks[3], "mb0.layer1.attention.fwd.keys1.send");
  EXPECT_EQ(sent.destination, 0);
  // Keys that have come go on while the rank computes with them.
  EXPECT_TRUE(depends(ranks[3], sent, node_named(ranks[3], "mb0.layer1.attention.fwd.keys0.receive")));
  EXPECT_FALSE(depends(ranks[3], sent, node_named(ranks[3], "mb0.layer1.attention.fwd.scores0.fwd")));
  // All four ranks have the same parameters.
  EXPECT_EQ(collectives_of(ranks[0]).at("dp_0 REDUCE_SCATTER").count, 2);
}

// 16 tokens, 64 elements of queries, keys and values each, and 64 of results.
TEST_F(TransformerParallel, HeadsAreExchangedForTokens) {
  TransformerModel model = two_layers();
  model.context_parallel = 2, model.context = TransformerModel::Context::kAllToAll;
  model.heads = 4, model.micro_batches = 1;
  const auto ranks = generate(model);
  std::multiset<int64_t> sizes;
  for (const WrittenNode& node : ranks[1]) {
    if (node.kind == chakra::ALL_TO_ALL) sizes.insert(node.size);
  }
  EXPECT_EQ(sizes, (std::multiset<int64_t>{2'048, 2'048, 2'048, 2'048, 6'144, 6'144, 6'144, 6'144}));
  model.key_value_heads = 2;
  EXPECT_EQ(node_named(generate(model)[0], "mb0.layer0.attention.qkv.fwd.all_to_all").size, 16 * (64 + 2 * 32) * 2);
}

// However the work is divided, all ranks together have the same; where only earlier tokens are seen, half of the
// scores.
TEST_F(TransformerParallel, DivisionKeepsTheWork) {
  TransformerModel model = two_layers();
  model.layers = 4, model.micro_batches = 4, model.heads = 8;
  const int64_t whole = flops(model);
  const std::function<void(TransformerModel&)> divisions[] = {
      [](auto& m) { m.tensor_parallel = 2, m.sequence_parallel = true; },
      [](auto& m) { m.context_parallel = 4; },
      [](auto& m) { m.context_parallel = 2, m.context = TransformerModel::Context::kAllToAll, m.tensor_parallel = 2; },
      [](auto& m) { m.pipeline_parallel = 2, m.pipeline = PipelineOrder::kZeroBubble; },
      [](auto& m) { m.pipeline_parallel = 2, m.pipeline = PipelineOrder::kInterleaved, m.virtual_stages = 2; },
      [](auto& m) {
        m.pipeline_parallel = 2, m.pipeline_layers = {3, 1};
      },
      [](auto& m) {
        m.pipeline_parallel = 2, m.pipeline = PipelineOrder::kDualPipe, m.pipeline_layers = {3, 1};
      },
      [](auto& m) {
        m.pipeline_parallel = m.context_parallel = m.tensor_parallel = 2, m.sequence_parallel = true;
        m.pipeline = PipelineOrder::kZeroBubble, m.zero = 3;
      },
  };
  for (const auto& divide : divisions) {
    TransformerModel divided = model;
    divide(divided);
    EXPECT_EQ(flops(divided), whole);
  }
  // 4 s^2 h flop of scores forward and twice that backward, for 4 layers and 4 micro-batches.
  const int64_t scores = 3 * 4 * 32 * 32 * 64 * 16;
  model.causal = TransformerModel::Causal::kBalanced;
  EXPECT_EQ(flops(model), whole - scores / 2);
  model.context_parallel = 4;
  EXPECT_EQ(flops(model), whole - scores / 2);
  model.causal = TransformerModel::Causal::kContiguous;
  EXPECT_EQ(flops(model), whole - scores / 2);
}

// The i-th rank of a ring of parts in order has 2 i + 1 halves of a block.
TEST_F(TransformerParallel, ContiguousPartsAreUnequal) {
  TransformerModel model = two_layers();
  model.context_parallel = 4, model.causal = TransformerModel::Causal::kContiguous;
  const auto ranks = generate(model);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    int64_t scores = 0;
    for (const WrittenNode& node : ranks[rank])
      scores += node.name.starts_with("mb0.layer0.attention.fwd.scores") ? node.flops : 0;
    EXPECT_EQ(scores, (2 * rank + 1) * 4 * 8 * 8 * 64 / 2) << rank;
  }
}

/// Four replicas. A layer's part is 49,152 / 4 x 2 = 24,576 B.
TransformerModel replicated(uint32_t zero) {
  TransformerModel model = two_layers();
  model.data_parallel = 4, model.zero = zero;
  return model;
}

TEST_F(TransformerParallel, ZeroHasFourStages) {
  const auto traffic = [&](const TransformerModel& model) { return collectives_of(generate(model)[2]); };
  EXPECT_EQ(traffic(replicated(0)), (Traffic{{"dp_0 ALL_REDUCE", {3, 98'304}}}));
  EXPECT_EQ(traffic(replicated(1)), (Traffic{{"dp_0 REDUCE_SCATTER", {2, 98'304}},
                                             {"dp_0 ALL_GATHER", {2, 24'576}},
                                             {"dp_0 ALL_REDUCE", {1, 98'304}}}));
  EXPECT_EQ(traffic(replicated(2)).at("dp_0 REDUCE_SCATTER"), (Amount{4, 98'304}));
  // Of two layers in two passes of two micro-batches, and of the embedding.
  EXPECT_EQ(traffic(replicated(3)),
            (Traffic{{"dp_0 REDUCE_SCATTER", {4 + 1, 98'304}}, {"dp_0 ALL_GATHER", {8 + 1, 24'576}}}));
  TransformerModel model = replicated(3);
  model.reshard_after_forward = false;
  EXPECT_EQ(traffic(model).at("dp_0 ALL_GATHER"), (Amount{4 + 1, 24'576}));
}

// Parameters are divided by two pairs, and a part's gradients are summed between them.
TEST_F(TransformerParallel, HybridShardingHasReplicas) {
  TransformerModel model = replicated(3);
  model.shard_replicas = 2;
  const auto ranks = generate(model);
  EXPECT_EQ(collectives_of(ranks[3]), (Traffic{{"fsdp_1 REDUCE_SCATTER", {5, 98'304}},
                                               {"fsdp_1 ALL_GATHER", {9, 49'152}},
                                               {"ddp_1 ALL_REDUCE", {5, 49'152}}}));
  EXPECT_TRUE(collectives_of(ranks[1]).contains("fsdp_0 ALL_GATHER"));
  EXPECT_TRUE(collectives_of(ranks[1]).contains("ddp_1 ALL_REDUCE"));
  model.zero = 1;
  EXPECT_EQ(collectives_of(generate(model)[0]).at("ddp_0 ALL_REDUCE"), (Amount{2, 49'152}));
  // Four replicas of two that share experts: 2 x 8 h^2 / 2 parameters, in parts of one.
  model.experts = 2, model.expert_parallel = 2;
  EXPECT_EQ(collectives_of(generate(model)[0]).at("eddp_0 ALL_REDUCE"), (Amount{2, 8 * 64 * 64 * 2}));
}

TEST_F(TransformerParallel, ParametersComeAheadOfTheComputation) {
  TransformerModel model = replicated(3);
  model.layers = 4;
  const auto waits = [&](const char* gathered, const char* computed) {
    const Nodes nodes = generate(model)[0];
    EXPECT_TRUE(depends(nodes, node_named(nodes, "mb0.layer3.attention.fwd"),
                        node_named(nodes, "mb0.layer3.fwd.parameter.all_gather")));
    return depends(nodes, node_named(nodes, gathered), node_named(nodes, computed));
  };
  EXPECT_FALSE(waits("mb0.layer2.fwd.parameter.all_gather", "mb0.layer1.attention.fwd"));
  EXPECT_TRUE(waits("mb0.layer2.fwd.parameter.all_gather", "mb0.layer0.mlp.fwd"));
  model.prefetch = 2;
  EXPECT_FALSE(waits("mb0.layer2.fwd.parameter.all_gather", "mb0.layer0.mlp.fwd"));
  EXPECT_FALSE(waits("mb0.layer1.bwd.parameter.all_gather", "mb0.layer3.attention.bwd"));
  model.prefetch = 0;
  EXPECT_TRUE(waits("mb0.layer2.fwd.parameter.all_gather", "mb0.layer1.mlp.fwd"));
  model.overlap = false;
  EXPECT_TRUE(waits("mb0.layer2.attention.bwd", "mb0.layer3.gradient.reduce_scatter"));
}

TEST_F(TransformerParallel, OptimizersUpdateWhatTheirRankKeeps) {
  const auto updated = [&](const TransformerModel& model) {
    return node_named(generate(model)[0], "optimizer.step").flops / 14;
  };
  EXPECT_EQ(updated(replicated(0)), 3 * 49'152);
  EXPECT_EQ(updated(replicated(1)), 2 * 12'288 + 49'152);
  EXPECT_EQ(updated(replicated(3)), 3 * 12'288);
  TransformerModel model = replicated(3);
  model.tied_embeddings = false;
  EXPECT_EQ(updated(model), 4 * 12'288);
}

TEST_F(TransformerParallel, UntiedOutputsHaveGradientsOfTheirOwn) {
  TransformerModel model = replicated(1);
  model.tied_embeddings = false;
  EXPECT_EQ(collectives_of(generate(model)[1]).at("dp_0 ALL_REDUCE"), (Amount{2, 98'304}));
  model.pipeline_parallel = 2;
  const auto ranks = generate(model);
  for (const uint32_t rank : {0u, 4u}) {
    EXPECT_EQ(collectives_of(ranks[rank]).at(rank == 0 ? "dp_0 ALL_REDUCE" : "dp_1 ALL_REDUCE"), (Amount{1, 98'304}));
    EXPECT_FALSE(collectives_of(ranks[rank]).contains("embedding_0 ALL_REDUCE"));
  }
}

// Two parts of each of two stages: activations pass three borders, of which one leads back to the first stage.
TEST_F(TransformerParallel, PartsOfStagesPassActivationsOn) {
  TransformerModel model = two_layers();
  model.layers = 4, model.pipeline_parallel = 2, model.pipeline = PipelineOrder::kInterleaved, model.virtual_stages = 2;
  const auto ranks = generate(model);
  // Of two micro-batches: rank 0 sends activations of both parts and gradients of its second one.
  EXPECT_EQ(messages(ranks[0]), (std::map<std::string, int>{{"send 4096", 6}, {"receive 4096", 6}}));
  std::multiset<std::pair<int64_t, int64_t>> sent, received;  // tags by direction
  for (const WrittenNode& node : ranks[0]) {
    if (node.type == chakra::COMM_SEND_NODE) sent.insert({node.tag, node.destination});
  }
  for (const WrittenNode& node : ranks[1]) {
    if (node.type == chakra::COMM_RECV_NODE) received.insert({node.tag, 1});
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(std::set(sent.begin(), sent.end()).size(), 6u);
  EXPECT_EQ(node_named(ranks[0], "mb0.layer2.mlp.fwd").type, chakra::COMP_NODE);
  EXPECT_EQ(node_named(ranks[1], "mb0.layer1.mlp.fwd").type, chakra::COMP_NODE);
}

// Layers 0 to 2, none and 3: the stage between passes on what it gets.
TEST_F(TransformerParallel, StagesMayHaveDifferentNumbersOfLayers) {
  TransformerModel model = two_layers();
  model.layers = 4, model.pipeline_parallel = 3, model.pipeline_layers = {3, 0, 1};
  const auto ranks = generate(model);
  EXPECT_EQ(node_named(ranks[0], "mb0.layer2.mlp.fwd").type, chakra::COMP_NODE);
  EXPECT_EQ(node_named(ranks[2], "mb0.layer3.mlp.fwd").type, chakra::COMP_NODE);
  EXPECT_EQ(messages(ranks[1]), (std::map<std::string, int>{{"send 4096", 4}, {"receive 4096", 4}}));
  EXPECT_TRUE(
      depends(ranks[1], node_named(ranks[1], "mb0.activation.send"), node_named(ranks[1], "mb0.activation.receive")));
}

// Micro-batches 0 to 3 enter at stage 0, 4 to 7 at stage 3; stages 0 and 3 have layers 0 and 3, and exchange their
// gradients: 12 h^2 = 49,152 parameters, 98,304 B, of two replicas and both ends.
TEST_F(TransformerParallel, DualPipeGoesBothWays) {
  TransformerModel model = two_layers();
  model.layers = 4, model.pipeline_parallel = 4, model.pipeline = PipelineOrder::kDualPipe, model.micro_batches = 8;
  model.zero = 0, model.data_parallel = 2;
  const auto ranks = generate(model);
  // Rank 6 is stage 3 of replica 0. Embedding and layers 0 and 3, all of them in each of the four ranks.
  for (const uint32_t rank : {0u, 1u, 6u, 7u}) {
    EXPECT_EQ(node_named(ranks[rank], "layer3.gradient.all_reduce").group, "dp_0");
    EXPECT_EQ(node_named(ranks[rank], "layer0.gradient.all_reduce").size, 98'304);
    EXPECT_EQ(node_named(ranks[rank], "embedding.gradient.all_reduce").group, "dp_0");
  }
  EXPECT_EQ(node_named(ranks[2], "layer2.gradient.all_reduce").group, "dp_1");
  EXPECT_EQ(node_named(ranks[0], "mb3.activation.send").destination, 2);
  EXPECT_EQ(node_named(ranks[6], "mb4.activation.send").destination, 4);
  EXPECT_EQ(node_named(ranks[0], "mb4.gradient.send").destination, 2);
  // In a pair neither waits for the other, and what follows for both: B5.1 F6.1 B0 B6.1 at stage 0.
  const Nodes& nodes = ranks[0];
  const WrittenNode& forward = node_named(nodes, "mb3.layer0.mlp.fwd");
  const WrittenNode& backward = node_named(nodes, "mb5.layer3.mlp.bwd");
  EXPECT_FALSE(depends(nodes, backward, forward) || depends(nodes, forward, backward));
  for (const WrittenNode* of : {&forward, &backward})
    EXPECT_TRUE(depends(nodes, node_named(nodes, "mb6.layer3.mlp.fwd"), *of));
}

// Gradients of weights, in half of the backward pass, hold nobody up.
TEST_F(TransformerParallel, ZeroBubbleSendsGradientsBeforeWeightsHaveTheirs) {
  TransformerModel model = two_layers();
  model.pipeline_parallel = 2, model.pipeline = PipelineOrder::kZeroBubble, model.data_parallel = 2;
  const auto ranks = generate(model);
  const Nodes& last = ranks[2];
  EXPECT_FALSE(depends(last, node_named(last, "mb0.gradient.send"), node_named(last, "mb0.layer1.mlp.bwd_weight")));
  EXPECT_TRUE(depends(last, node_named(last, "layer1.gradient.reduce_scatter"),
                      node_named(last, "mb1.layer1.attention.bwd_weight")));
  // Scores have no weights: 8 s h^2 + 8 s^2 h of attention for inputs, 8 s h^2 for weights.
  EXPECT_EQ(node_named(last, "mb0.layer1.attention.bwd_input").flops, 8 * 32 * 64 * 64 + 8 * 32 * 32 * 64);
  EXPECT_EQ(node_named(last, "mb0.layer1.attention.bwd_weight").flops, 8 * 32 * 64 * 64);
}

// The first stage gives its gradient of the tied embedding behind the last backward pass of all: a stage that waited
// for it before it went on would wait for ever.
TEST_F(TransformerParallel, NoStageWaitsForTheTiedGradient) {
  TransformerModel model = two_layers();
  model.layers = 4, model.pipeline_parallel = 2, model.overlap = false;
  for (const auto& [order, parts] : {std::pair{PipelineOrder::kOneForwardOneBackward, 1u},
                                     {PipelineOrder::kInterleaved, 2u},
                                     {PipelineOrder::kZeroBubble, 1u}}) {
    model.pipeline = order, model.virtual_stages = parts;
    const std::vector<Nodes> ranks = generate(model);
    for (const Nodes& nodes : ranks) {
      const uint64_t tied = node_named(nodes, "embedding.tied_gradient.all_reduce").id;
      for (const WrittenNode& node : nodes) {
        const bool waits = std::ranges::find(node.after, tied) != node.after.end();
        EXPECT_EQ(waits, node.name == "optimizer.step") << node.name;
      }
    }
  }
}

// Experts, sequence and context parallelism, hybrid sharding and a pipeline together are a valid set of traces.
TEST_F(TransformerParallel, AllTogetherIsAValidWorkload) {
  TransformerModel model = two_layers();
  model.layers = 4, model.heads = 8, model.key_value_heads = 4;
  model.experts = 8, model.experts_per_token = 2, model.shared_experts = 1, model.dense_layers = 1;
  model.routing = {.popularity = RoutingModel::Popularity::kZipf, .drift = 2, .capacity = 1.5};
  model.tensor_parallel = model.context_parallel = model.pipeline_parallel = 2, model.sequence_parallel = true;
  model.data_parallel = 4, model.expert_parallel = 4, model.shard_replicas = 2;
  using enum TransformerModel::Context;
  for (const auto& [zero, context] : {std::pair(2u, kRing), std::pair(3u, kAllToAll)}) {
    for (const PipelineOrder order :
         {PipelineOrder::kZeroBubble, PipelineOrder::kInterleaved, PipelineOrder::kDualPipe}) {
      model.micro_batches = order == PipelineOrder::kDualPipe ? 4 : 2;
      model.zero = zero, model.pipeline = order, model.context = context;
      model.virtual_stages = order == PipelineOrder::kInterleaved ? 2 : 1;
      EXPECT_EQ(generate(model).size(), 32u);
    }
  }
}

TEST(TransformerCost, HasTheParametersOfPublishedModels) {
  for (const ModelPreset& preset : model_presets()) {
    TransformerModel model;
    model.layers = preset.layers, model.hidden = preset.hidden, model.vocabulary = preset.vocabulary;
    model.tensor_parallel = model.data_parallel = 1;
    model.heads = preset.heads, model.key_value_heads = preset.key_value_heads, model.head_size = preset.head_size;
    model.ffn = preset.ffn, model.gated = preset.gated, model.latent = preset.latent;
    model.experts = preset.experts, model.experts_per_token = preset.experts_per_token;
    model.expert_ffn = preset.expert_ffn, model.shared_experts = preset.shared_experts;
    model.dense_layers = preset.dense_layers;
    EXPECT_FALSE(wrong_transformer(model).has_value()) << preset.name;
    const TransformerCost cost(model);
    int64_t parameters = (preset.tied_embeddings ? 1 : 2) * cost.embedding_parameters();
    for (uint32_t layer = 0; layer < model.layers; ++layer)
      parameters += cost.layer_parameters(layer) + (model.has_experts(layer) ? cost.expert_parameters() : 0);
    EXPECT_EQ(parameters, model_parameters(preset)) << preset.name;
  }
}

}  // namespace
}  // namespace rankwire
