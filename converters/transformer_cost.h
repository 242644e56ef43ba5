// Flops, parameters and bytes of the parts of a transformer, per tensor-parallel shard and micro-batch.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "converters/transformer.h"

namespace rankwire {

/// What a compute node does: floating-point operations, and the bytes it moves to and from memory.
struct Work {
  int64_t flops = 0;
  Bytes memory;
  int64_t scores = 0;  ///< of `flops`, those without weights: attention between tokens

  /// One part of `parts` equal ones, rounded up.
  Work part(int64_t parts) const;
};

/// With b sequences of s tokens a micro-batch, hidden size h, vocabulary V, t shards, c parts of a sequence. A layer
/// has 12 h^2 parameters and its forward pass takes 24 b s h^2 (1 + s / 6h) flops, of which attention takes 8 b s h^2 +
/// 4 b s^2 h and the MLP 16 b s h^2; the logits take 2 b s h V; backward takes twice as much (Narayanan et al., SC21,
/// appendix). A rank has b s / c tokens. With queries of width q and keys and values of width w attention's projections
/// take 4 b s h (q + w) instead; an MLP of M matrices of width f takes 2 M b s h f, and so does an expert for each of
/// its tokens. Scores between a token and those behind it are half of all. With latent attention queries are made of h
/// by way of their compressed width, keys and values of theirs, and a head's scores have its positions' elements, too.
/// The projections to what is compressed are not sharded. Memory counts the weights once and the activations in and
/// out; attention scores stay on the chip (Dao et al., NeurIPS 2022). All functions throw Error(kInput) when a value
/// exceeds 2^63 - 1.
class TransformerCost {
 public:
  explicit TransformerCost(const TransformerModel& model);

  /// The whole of attention, or its parts where something is sent between them: projections of the input, what follows
  /// from tokens that see each other, projection of the output.
  Work attention() const;
  Work attention_input() const;
  Work attention_scores() const;
  Work attention_output() const;
  Work mlp() const;
  /// Of the experts that a rank has, which all have work, for as many tokens.
  Work experts(int64_t tokens) const;
  Work shared_experts() const;
  Work router() const;  ///< 2 b s h E
  Work logits() const;
  Work embedding() const;
  /// Adam (Kingma, Ba 2015, algorithm 1): 14 operations a parameter; memory per ZeRO, section 3.1: parameter, gradient
  /// and 12 bytes of state.
  Work optimizer(int64_t parameters) const;

  /// Tokens of a rank: b s / c; and those of which it has activations between blocks, a t-th with sequence parallelism.
  int64_t tokens() const { return tokens_; }
  int64_t resident_tokens() const;
  /// Of so many tokens between two layers: h elements each.
  Bytes activations(int64_t tokens) const;
  /// Keys and values of a rank's tokens: 2 b s w / c t elements; of latent attention those of all heads, with
  /// positions.
  Bytes keys_and_values() const;
  Bytes queries() const;
  Bytes attention_result() const;  ///< what scores have made of the values

  int64_t attention_parameters() const;  ///< 2 h (q + w) / t
  /// Of a layer but its experts: attention, and the MLP or the router and the shared experts.
  int64_t layer_parameters(uint32_t layer) const;
  int64_t expert_parameters() const;     ///< E / expert_parallel x M h f / t
  int64_t embedding_parameters() const;  ///< ceil(V / t) h
  Bytes bytes_of(int64_t elements) const;
  /// flops / peak in microseconds, rounded up, at least 1.
  uint64_t duration_micros(const Work& work) const;

 private:
  int64_t mlp_weights(int64_t width) const;
  Work mlp(int64_t weights, int64_t held, int64_t tokens) const;
  int64_t input_weights() const;
  int64_t output_weights() const;

  const TransformerModel& model_;
  int64_t tokens_;            ///< b s / c
  int64_t query_shard_;       ///< q / t
  int64_t key_value_shard_;   ///< w / t
  int64_t position_shard_;    ///< further elements of queries, and of keys, of latent attention
  int64_t ffn_shard_;         ///< f / t
  int64_t expert_ffn_shard_;  ///< the same of an expert
  int64_t matrices_;          ///< M
  int64_t vocabulary_shard_;  ///< ceil(V / t)
};

/// The work of the backward pass of `forward`: the gradients of inputs and of weights.
Work backward(const Work& forward);
/// Of that, the gradients of inputs alone, and of weights alone: as much as forward, but scores are inputs' twice.
Work backward_of_inputs(const Work& forward);
Work backward_of_weights(const Work& forward);

}  // namespace rankwire
