// What of a transformer contradicts the rest.
#include <gtest/gtest.h>

#include "converters/transformer.h"

namespace rankwire {
namespace {

TEST(WrongTransformer, NamesTheKeyAndWhatWouldBeRight) {
  const auto expect = [](const std::string& text, auto change) {
    TransformerModel model{.layers = 2, .hidden = 64, .sequence = 32, .vocabulary = 768};
    model.tensor_parallel = model.data_parallel = 1;
    change(model);
    const auto wrong = wrong_transformer(model);
    ASSERT_TRUE(wrong.has_value()) << text;
    EXPECT_EQ(wrong->key + ": " + wrong->text, text);
  };
  expect("tensor_parallel: 4 does not divide key_value_heads 2; it can be 2 at most",
         [](auto& m) { m.heads = 8, m.key_value_heads = 2, m.tensor_parallel = 4; });
  expect("heads: 8 is not a multiple of key_value_heads 3", [](auto& m) { m.heads = 8, m.key_value_heads = 3; });
  expect("key_value: 8 is not key_value_heads 2 x head_size 8, 16",
         [](auto& m) { m.heads = 8, m.key_value_heads = 2, m.key_value = 8; });
  expect("key_value_heads: needs 'heads'", [](auto& m) { m.key_value_heads = 2; });
  expect("sequence: 32 is not a multiple of context_parallel 3", [](auto& m) { m.context_parallel = 3; });
  expect("context: all_to_all exchanges heads; needs 'heads'",
         [](auto& m) { m.context_parallel = 2, m.context = TransformerModel::Context::kAllToAll; });
  expect("key_value_heads: 2 is not a multiple of tensor_parallel x context_parallel 4", [](auto& m) {
    m.heads = 8, m.key_value_heads = 2, m.context_parallel = 4, m.context = TransformerModel::Context::kAllToAll;
  });
  expect("virtual_stages: 2 is for 'pipeline: interleaved'", [](auto& m) { m.virtual_stages = 2; });
  expect("virtual_stages: is 1; 'pipeline: interleaved' has 2 or more",
         [](auto& m) { m.pipeline = PipelineOrder::kInterleaved; });
  expect("pipeline_parallel: is 1; 'pipeline: interleaved' has 2 or more",
         [](auto& m) { m.pipeline = PipelineOrder::kInterleaved, m.virtual_stages = 2; });
  expect("micro_batches: 3 is not a multiple of pipeline_parallel 2", [](auto& m) {
    m.layers = 4, m.pipeline_parallel = 2, m.pipeline = PipelineOrder::kInterleaved, m.virtual_stages = 2;
    m.micro_batches = 3;
  });
  expect("pipeline_layers: has 1 numbers; it must have 2, one of each of pipeline_parallel 2 stages x virtual_stages 1",
         [](auto& m) { m.pipeline_parallel = 2, m.pipeline_layers = {2}; });
  expect("pipeline_layers: are 4 together, but layers are 2", [](auto& m) {
    m.pipeline_parallel = 2, m.pipeline_layers = {3, 1};
  });
  expect("pipeline_parallel: 1 is odd; 'pipeline: dualpipe' has pairs of stages",
         [](auto& m) { m.pipeline = PipelineOrder::kDualPipe; });
  expect("micro_batches: 2: 'pipeline: dualpipe' has an even number of them, at least 2 x pipeline_parallel 2",
         [](auto& m) { m.pipeline_parallel = 2, m.pipeline = PipelineOrder::kDualPipe; });
  expect("layers: 2 is not a multiple of pipeline_parallel x virtual_stages 4",
         [](auto& m) { m.pipeline_parallel = 2, m.pipeline = PipelineOrder::kInterleaved, m.virtual_stages = 2; });
  expect("data_parallel: 4 is not a multiple of shard_replicas 3",
         [](auto& m) { m.data_parallel = 4, m.shard_replicas = 3; });
  expect("shard_replicas: 2 is for zero 1 to 3",
         [](auto& m) { m.data_parallel = 4, m.shard_replicas = 2, m.zero = 0; });
  expect("prefetch: is for zero 3", [](auto& m) { m.prefetch = 2; });
}

}  // namespace
}  // namespace rankwire
