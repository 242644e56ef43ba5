#include "converters/inference_cost.h"

#include <algorithm>
#include <limits>

#include "converters/kv_cache.h"
#include "converters/model_sizes.h"

namespace rankwire {
namespace {

/// What is longer is beyond all that is planned.
Duration bounded_time(__int128 picoseconds) {
  constexpr Duration kLongest = seconds(2'000'000);
  return picoseconds > kLongest.ps ? kLongest : Duration(static_cast<int64_t>(picoseconds));
}

}  // namespace

Duration network_time(const ServingModel& model, Bytes size) {
  return bounded_time(static_cast<__int128>(size.count) * 8 * 1'000'000'000'000 / model.network.bits_per_second);
}

InferenceCost::InferenceCost(const ServingModel& model, const ServingPool& pool)
    : model_(model), pool_(pool), vocabulary_shard_(divide_up(model.vocabulary, pool.tensor_parallel)) {}

int64_t InferenceCost::tokens(const Batch& batch) const {
  return divide_up(batch.tokens(), pool_.expert_parallel);
}

int64_t InferenceCost::most_kept() const {
  if (pool_.kv_memory.count == 0) return std::numeric_limits<int64_t>::max();
  return pool_.kv_memory.count /
         kv(kv_elements_of_shard(model_.attention, pool_.tensor_parallel), 1, model_.layers).count;
}

int64_t InferenceCost::even_visits(const Batch& batch) const {
  return size_product({tokens(batch), model_.experts_per_token});
}

int64_t InferenceCost::given(const Batch& batch) const {
  return divide_up(batch.given(), pool_.expert_parallel);
}

Bytes InferenceCost::bytes(int64_t elements) const {
  return Bytes(size_product({elements, model_.element.count}));
}

int64_t InferenceCost::attention_parameters() const {
  const AttentionShape& a = model_.attention;
  const int64_t width = size_product({a.heads / pool_.tensor_parallel, a.head_dim});
  const int64_t output = size_product({width, model_.hidden});
  if (a.latent == 0) {
    const int64_t key_value = kv_elements_of_shard(a, pool_.tensor_parallel);
    return size_sum({size_product({model_.hidden, size_sum({width, key_value})}), output});
  }
  const int64_t down = size_product({model_.hidden, size_sum({a.latent, a.rope, a.query_latent})});
  const int64_t up = size_product({2, a.latent, width});
  const int64_t queries = size_product({a.query_latent > 0 ? a.query_latent : model_.hidden,
                                        a.heads / pool_.tensor_parallel, size_sum({a.head_dim, a.rope})});
  return size_sum({down, up, queries, output});
}

int64_t InferenceCost::pair_flops(bool decodes) const {
  const AttentionShape& a = model_.attention;
  const int64_t heads = a.heads / pool_.tensor_parallel;
  if (a.latent == 0) return size_product({4, heads, a.head_dim});
  const int64_t width = decodes ? a.latent : a.head_dim;
  return size_product({2, heads, size_sum({2 * width, a.rope})});
}

Work InferenceCost::attention(const Batch& batch) const {
  int64_t scores = 0, kept = 0;
  for (const BatchPiece& piece : batch.pieces) {
    // The k-th of its tokens attends to the context and to k of them.
    const int64_t pairs = size_sum({size_product({piece.tokens, piece.context}),
                                    checked_size(static_cast<__int128>(piece.tokens) * (piece.tokens + 1) / 2)});
    scores = size_sum({scores, size_product({pairs, pair_flops(piece.decodes)})});
    kept = size_sum({kept, piece.context, piece.tokens});
  }
  const int64_t parameters = attention_parameters(), n = tokens(batch);
  const int64_t replicas = pool_.expert_parallel;
  const int64_t key_value =
      size_product({divide_up(kept, replicas), kv_elements_of_shard(model_.attention, pool_.tensor_parallel)});
  return {size_sum({size_product({2, n, parameters}), divide_up(scores, replicas)}),
          bytes(size_sum({parameters, key_value, size_product({2, n, model_.hidden})}))};
}

int64_t InferenceCost::mlp_weights(int64_t width) const {
  return size_product({model_.gated ? 3 : 2, model_.hidden, width / pool_.tensor_parallel});
}

Work InferenceCost::mlp(int64_t weights, int64_t tokens) const {
  return {size_product({2, tokens, weights}), bytes(size_sum({weights, size_product({2, tokens, model_.hidden})}))};
}

Work InferenceCost::mlp(const Batch& batch) const {
  return mlp(mlp_weights(model_.mlp_width()), tokens(batch));
}

Work InferenceCost::experts(int64_t visits) const {
  const int64_t weights = mlp_weights(model_.expert_width());
  const int64_t visited = std::min<int64_t>(model_.experts / pool_.expert_parallel, visits);
  return {size_product({2, visits, weights}),
          bytes(size_sum({size_product({visited, weights}), size_product({2, visits, model_.hidden})}))};
}

Work InferenceCost::shared_experts(const Batch& batch) const {
  return mlp(size_product({model_.shared_experts, mlp_weights(model_.expert_width())}), tokens(batch));
}

Work InferenceCost::router(const Batch& batch) const {
  const int64_t weights = size_product({model_.hidden, model_.experts}), n = tokens(batch);
  return {size_product({2, n, weights}),
          bytes(size_sum({weights, size_product({n, size_sum({model_.hidden, model_.experts})})}))};
}

Work InferenceCost::embedding(const Batch& batch) const {
  return {0, bytes(size_product({2, tokens(batch), model_.hidden}))};
}

Work InferenceCost::logits(const Batch& batch) const {
  const int64_t weights = size_product({vocabulary_shard_, model_.hidden}), n = given(batch);
  return {size_product({2, n, weights}),
          bytes(size_sum({weights, size_product({n, size_sum({model_.hidden, vocabulary_shard_})})}))};
}

Bytes InferenceCost::activations(const Batch& batch) const {
  return activations(tokens(batch));
}

Bytes InferenceCost::activations(int64_t tokens) const {
  return bytes(size_product({tokens, model_.hidden}));
}

Bytes InferenceCost::logits_shard(const Batch& batch) const {
  return bytes(size_product({given(batch), vocabulary_shard_}));
}

Bytes InferenceCost::kv(int64_t elements, int64_t tokens, int64_t layers) const {
  return bytes(size_product({elements, tokens, layers}));
}

Duration InferenceCost::time_of(const Work& work) const {
  const __int128 arithmetic = static_cast<__int128>(work.flops) * 1'000'000'000'000 / model_.peak_flops;
  const __int128 memory =
      static_cast<__int128>(work.memory.count) * 8 * 1'000'000'000'000 / model_.memory_bandwidth.bits_per_second;
  return bounded_time(std::max(arithmetic, memory));
}

Duration InferenceCost::estimate(const Batch& batch) const {
  const auto sent = [&](Bytes input, int64_t numerator, int64_t denominator) {
    return network_time(model_, Bytes(checked_size(static_cast<__int128>(input.count) * numerator / denominator)));
  };
  const int64_t t = pool_.tensor_parallel, p = pool_.expert_parallel;
  const Duration all_reduce = sent(activations(batch), 2 * (t - 1), t);
  const int64_t with_experts = model_.experts > 1 ? model_.layers - model_.dense_layers : 0;
  const Duration every = time_of(attention(batch)) + all_reduce * 2;
  Duration dense, mixture;
  if (with_experts < model_.layers) dense = time_of(mlp(batch));
  if (with_experts > 0) {
    const Duration exchange = sent(activations(even_visits(batch)), p - 1, p);
    const Duration shared = model_.shared_experts > 0 ? time_of(shared_experts(batch)) : Duration();
    mixture = time_of(router(batch)) + std::max(exchange, shared) + time_of(experts(even_visits(batch))) + exchange;
  }
  Duration once = time_of(embedding(batch)) + all_reduce;
  if (batch.given() > 0) once += time_of(logits(batch)) + sent(logits_shard(batch), t - 1, 1);
  return bounded_time(once.ps + static_cast<__int128>(every.ps) * model_.layers +
                      static_cast<__int128>(dense.ps) * (model_.layers - with_experts) +
                      static_cast<__int128>(mixture.ps) * with_experts);
}

}  // namespace rankwire
