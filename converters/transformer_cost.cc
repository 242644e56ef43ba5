#include "converters/transformer_cost.h"

#include <initializer_list>
#include <limits>

#include "base/error.h"

namespace rankwire {
namespace {

int64_t checked(__int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) fail_input("the transformer is too large: a size exceeds 2^63 - 1");
  return static_cast<int64_t>(value);
}

int64_t product(std::initializer_list<int64_t> factors) {
  int64_t value = 1;
  for (int64_t factor : factors) value = checked(static_cast<__int128>(value) * factor);
  return value;
}

int64_t sum(int64_t a, int64_t b) {
  return checked(static_cast<__int128>(a) + b);
}

int64_t divide_up(int64_t dividend, int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

}  // namespace

TransformerCost::TransformerCost(const TransformerModel& model)
    : model_(model),
      tokens_(product({model.micro_batch_size, model.sequence})),
      vocabulary_shard_(divide_up(model.vocabulary, model.tensor_parallel)) {}

Work TransformerCost::attention() const {
  const int64_t width = model_.hidden / model_.tensor_parallel;
  const int64_t projections = product({8, tokens_, model_.hidden, width});
  const int64_t scores = product({4, tokens_, model_.sequence, width});
  const int64_t elements = sum(product({4, model_.hidden, width}), product({2, tokens_, model_.hidden}));
  return {sum(projections, scores), bytes_of(elements)};
}

Work TransformerCost::mlp() const {
  const int64_t width = model_.hidden / model_.tensor_parallel;
  const int64_t elements = sum(product({8, model_.hidden, width}), product({2, tokens_, model_.hidden}));
  return {product({16, tokens_, model_.hidden, width}), bytes_of(elements)};
}

Work TransformerCost::logits() const {
  const int64_t activations_in_and_out = product({tokens_, sum(model_.hidden, vocabulary_shard_)});
  return {product({2, tokens_, model_.hidden, vocabulary_shard_}),
          bytes_of(sum(embedding_parameters(), activations_in_and_out))};
}

Work TransformerCost::embedding() const {
  return {0, bytes_of(product({2, tokens_, model_.hidden}))};
}

Work TransformerCost::optimizer(int64_t parameters) const {
  return {product({14, parameters}), Bytes(product({2 * model_.element.count + 12, parameters}))};
}

Bytes TransformerCost::activations() const {
  return bytes_of(product({tokens_, model_.hidden}));
}

int64_t TransformerCost::layer_parameters() const {
  return product({12, model_.hidden, model_.hidden / model_.tensor_parallel});
}

int64_t TransformerCost::embedding_parameters() const {
  return product({vocabulary_shard_, model_.hidden});
}

int64_t TransformerCost::layer_shard() const {
  return divide_up(layer_parameters(), model_.data_parallel);
}

Bytes TransformerCost::bytes_of(int64_t elements) const {
  return Bytes(product({elements, model_.element.count}));
}

uint64_t TransformerCost::duration_micros(const Work& work) const {
  const __int128 operations = static_cast<__int128>(work.flops) * 1'000'000;
  const int64_t micros = checked((operations + model_.peak_flops - 1) / model_.peak_flops);
  return micros < 1 ? 1 : static_cast<uint64_t>(micros);
}

Work backward(const Work& forward) {
  return {product({2, forward.flops}), Bytes(product({2, forward.memory.count}))};
}

}  // namespace rankwire
