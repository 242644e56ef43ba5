#include "converters/transformer_cost.h"

#include "converters/model_sizes.h"

namespace rankwire {

TransformerCost::TransformerCost(const TransformerModel& model)
    : model_(model),
      tokens_(size_product({model.micro_batch_size, model.sequence})),
      ffn_shard_((model.ffn > 0 ? model.ffn : size_product({4, model.hidden})) / model.tensor_parallel),
      key_value_shard_((model.key_value > 0 ? model.key_value : model.hidden) / model.tensor_parallel),
      matrices_(model.gated ? 3 : 2),
      vocabulary_shard_(divide_up(model.vocabulary, model.tensor_parallel)) {}

Work TransformerCost::attention() const {
  const int64_t width = model_.hidden / model_.tensor_parallel;
  const int64_t weights = size_product({2, model_.hidden, size_sum({width, key_value_shard_})});
  const int64_t scores = size_product({4, tokens_, model_.sequence, width});
  return {size_sum({size_product({2, tokens_, weights}), scores}),
          bytes_of(size_sum({weights, size_product({2, tokens_, model_.hidden})}))};
}

Work TransformerCost::mlp() const {
  const int64_t weights = size_product({matrices_, model_.hidden, ffn_shard_});
  const int64_t tokens = size_product({tokens_, model_.experts_per_token});
  const int64_t held = has_experts() ? expert_parameters() : weights;
  return {size_product({2, tokens, weights}), bytes_of(size_sum({held, size_product({2, tokens, model_.hidden})}))};
}

Work TransformerCost::router() const {
  const int64_t weights = size_product({model_.hidden, model_.experts});
  return {size_product({2, tokens_, weights}),
          bytes_of(size_sum({weights, size_product({tokens_, size_sum({model_.hidden, model_.experts})})}))};
}

Work TransformerCost::logits() const {
  const int64_t activations_in_and_out = size_product({tokens_, size_sum({model_.hidden, vocabulary_shard_})});
  return {size_product({2, tokens_, model_.hidden, vocabulary_shard_}),
          bytes_of(size_sum({embedding_parameters(), activations_in_and_out}))};
}

Work TransformerCost::embedding() const {
  return {0, bytes_of(size_product({2, tokens_, model_.hidden}))};
}

Work TransformerCost::optimizer(int64_t parameters) const {
  return {size_product({14, parameters}), Bytes(size_product({2 * model_.element.count + 12, parameters}))};
}

Bytes TransformerCost::activations() const {
  return bytes_of(size_product({tokens_, model_.hidden}));
}

Bytes TransformerCost::dispatched() const {
  return bytes_of(size_product({tokens_, model_.experts_per_token, model_.hidden}));
}

int64_t TransformerCost::layer_parameters() const {
  const int64_t width = model_.hidden / model_.tensor_parallel;
  const int64_t attention = size_product({2, model_.hidden, size_sum({width, key_value_shard_})});
  const int64_t rest = has_experts() ? size_product({model_.hidden, model_.experts})
                                     : size_product({matrices_, model_.hidden, ffn_shard_});
  return size_sum({attention, rest});
}

int64_t TransformerCost::expert_parameters() const {
  if (!has_experts()) return 0;
  return size_product({model_.experts / model_.expert_parallel, matrices_, model_.hidden, ffn_shard_});
}

int64_t TransformerCost::embedding_parameters() const {
  return size_product({vocabulary_shard_, model_.hidden});
}

int64_t TransformerCost::layer_shard() const {
  return divide_up(layer_parameters(), model_.data_parallel);
}

int64_t TransformerCost::expert_shard() const {
  return divide_up(expert_parameters(), model_.data_parallel / model_.expert_parallel);
}

Bytes TransformerCost::bytes_of(int64_t elements) const {
  return Bytes(size_product({elements, model_.element.count}));
}

uint64_t TransformerCost::duration_micros(const Work& work) const {
  return micros_at_peak(work.flops, model_.peak_flops);
}

Work backward(const Work& forward) {
  return {size_product({2, forward.flops}), Bytes(size_product({2, forward.memory.count}))};
}

}  // namespace rankwire
