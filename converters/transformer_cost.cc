#include "converters/transformer_cost.h"

#include "converters/model_sizes.h"

namespace rankwire {
namespace {

int64_t query_width(const TransformerModel& model) {
  return model.heads > 0 && model.head_size > 0 ? size_product({model.heads, model.head_size}) : model.hidden;
}

int64_t key_value_width(const TransformerModel& model) {
  if (model.key_value > 0) return model.key_value;
  if (model.key_value_heads == 0 || model.latent.used()) return query_width(model);
  return query_width(model) / model.heads * model.key_value_heads;
}

}  // namespace

Work Work::part(int64_t parts) const {
  return {divide_up(flops, parts), Bytes(divide_up(memory.count, parts)), divide_up(scores, parts)};
}

TransformerCost::TransformerCost(const TransformerModel& model)
    : model_(model),
      tokens_(size_product({model.micro_batch_size, model.sequence / model.context_parallel})),
      query_shard_(query_width(model) / model.tensor_parallel),
      key_value_shard_(key_value_width(model) / model.tensor_parallel),
      position_shard_(size_product({model.heads, model.latent.rope}) / model.tensor_parallel),
      ffn_shard_((model.ffn > 0 ? model.ffn : size_product({4, model.hidden})) / model.tensor_parallel),
      expert_ffn_shard_(model.expert_ffn > 0 ? model.expert_ffn / model.tensor_parallel : ffn_shard_),
      matrices_(model.gated ? 3 : 2),
      vocabulary_shard_(divide_up(model.vocabulary, model.tensor_parallel)) {}

int64_t TransformerCost::input_weights() const {
  const LatentAttention& latent = model_.latent;
  if (!latent.used())
    return size_product({model_.hidden, size_sum({query_shard_, key_value_shard_, key_value_shard_})});
  const int64_t query = latent.query == 0
                            ? size_product({model_.hidden, size_sum({query_shard_, position_shard_})})
                            : size_product({latent.query, size_sum({model_.hidden, query_shard_, position_shard_})});
  return size_sum({query, size_product({model_.hidden, size_sum({latent.key_value, latent.rope})}),
                   size_product({2, latent.key_value, key_value_shard_})});
}

int64_t TransformerCost::output_weights() const {
  return size_product({model_.hidden, query_shard_});
}

Work TransformerCost::attention() const {
  const int64_t weights = attention_parameters();
  const int64_t scores = attention_scores().flops;
  return {size_sum({size_product({2, tokens_, weights}), scores}),
          bytes_of(size_sum({weights, size_product({2, tokens_, model_.hidden})})), scores};
}

Work TransformerCost::attention_input() const {
  const int64_t made = size_sum({query_shard_, position_shard_, key_value_shard_, key_value_shard_, position_shard_});
  return {size_product({2, tokens_, input_weights()}),
          bytes_of(size_sum({input_weights(), size_product({tokens_, size_sum({model_.hidden, made})})}))};
}

Work TransformerCost::attention_scores() const {
  // Queries with keys, and the result with values, 2 flops each.
  const int64_t width = size_sum({query_shard_, query_shard_, position_shard_});
  const int64_t all = size_product({2, tokens_, model_.sequence, width});
  const int64_t flops = model_.causal == TransformerModel::Causal::kOff ? all : divide_up(all, 2);
  return {flops, Bytes(queries().count + keys_and_values().count + attention_result().count), flops};
}

Work TransformerCost::attention_output() const {
  return {size_product({2, tokens_, output_weights()}),
          bytes_of(size_sum({output_weights(), size_product({tokens_, size_sum({query_shard_, model_.hidden})})}))};
}

int64_t TransformerCost::mlp_weights(int64_t width) const {
  return size_product({matrices_, model_.hidden, width});
}

Work TransformerCost::mlp(int64_t weights, int64_t held, int64_t tokens) const {
  return {size_product({2, tokens, weights}), bytes_of(size_sum({held, size_product({2, tokens, model_.hidden})}))};
}

Work TransformerCost::mlp() const {
  return mlp(mlp_weights(ffn_shard_), mlp_weights(ffn_shard_), tokens_);
}

Work TransformerCost::experts(int64_t tokens) const {
  return mlp(mlp_weights(expert_ffn_shard_), expert_parameters(), tokens);
}

Work TransformerCost::shared_experts() const {
  const int64_t weights = size_product({model_.shared_experts, mlp_weights(expert_ffn_shard_)});
  return mlp(weights, weights, tokens_);
}

Work TransformerCost::router() const {
  const int64_t weights = size_product({model_.hidden, model_.experts});
  return {size_product({2, resident_tokens(), weights}),
          bytes_of(size_sum({weights, size_product({resident_tokens(), size_sum({model_.hidden, model_.experts})})}))};
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

int64_t TransformerCost::resident_tokens() const {
  return model_.sequence_parallel ? tokens_ / model_.tensor_parallel : tokens_;
}

Bytes TransformerCost::activations(int64_t tokens) const {
  return bytes_of(size_product({tokens, model_.hidden}));
}

Bytes TransformerCost::keys_and_values() const {
  return bytes_of(size_product({tokens_, size_sum({key_value_shard_, key_value_shard_, position_shard_})}));
}

Bytes TransformerCost::queries() const {
  return bytes_of(size_product({tokens_, size_sum({query_shard_, position_shard_})}));
}

Bytes TransformerCost::attention_result() const {
  return bytes_of(size_product({tokens_, query_shard_}));
}

int64_t TransformerCost::attention_parameters() const {
  return size_sum({input_weights(), output_weights()});
}

int64_t TransformerCost::layer_parameters(uint32_t layer) const {
  if (!model_.has_experts(layer)) return size_sum({attention_parameters(), mlp_weights(ffn_shard_)});
  return size_sum({attention_parameters(), size_product({model_.hidden, model_.experts}),
                   size_product({model_.shared_experts, mlp_weights(expert_ffn_shard_)})});
}

int64_t TransformerCost::expert_parameters() const {
  return size_product({model_.experts / model_.expert_parallel, mlp_weights(expert_ffn_shard_)});
}

int64_t TransformerCost::embedding_parameters() const {
  return size_product({vocabulary_shard_, model_.hidden});
}

Bytes TransformerCost::bytes_of(int64_t elements) const {
  return Bytes(size_product({elements, model_.element.count}));
}

uint64_t TransformerCost::duration_micros(const Work& work) const {
  return micros_at_peak(work.flops, model_.peak_flops);
}

Work backward(const Work& forward) {
  return {size_product({2, forward.flops}), Bytes(size_product({2, forward.memory.count})),
          size_product({2, forward.scores})};
}

Work backward_of_inputs(const Work& forward) {
  return {size_sum({forward.flops, forward.scores}), forward.memory, size_product({2, forward.scores})};
}

Work backward_of_weights(const Work& forward) {
  return {forward.flops - forward.scores, forward.memory, 0};
}

}  // namespace rankwire
