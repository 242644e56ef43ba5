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
};

/// With b sequences of s tokens a micro-batch, hidden size h, vocabulary V, t shards. A layer has 12 h^2 parameters and
/// its forward pass takes 24 b s h^2 (1 + s / 6h) flops, of which attention takes 8 b s h^2 + 4 b s^2 h and the MLP
/// 16 b s h^2; the logits take 2 b s h V; backward takes twice as much (Narayanan et al., SC21, appendix). With keys
/// and values of width w attention's projections take 4 b s h (h + w) instead; an MLP of M matrices of width f takes 2
/// M b s h f, and with experts k times that. Memory counts the weights once and the activations in and out; attention
/// scores stay on the chip (Dao et al., NeurIPS 2022). All functions throw Error(kInput) when a value exceeds 2^63 - 1.
class TransformerCost {
 public:
  explicit TransformerCost(const TransformerModel& model);

  Work attention() const;
  /// Of the MLP, or of the experts that a rank has, which all have work.
  Work mlp() const;
  Work router() const;  ///< 2 b s h E
  Work logits() const;
  Work embedding() const;
  /// Adam (Kingma, Ba 2015, algorithm 1): 14 operations a parameter; memory per ZeRO, section 3.1: parameter, gradient
  /// and 12 bytes of state.
  Work optimizer(int64_t parameters) const;

  /// Of one micro-batch between two layers: b s h elements.
  Bytes activations() const;
  /// Of what each token goes to the k experts: b s k h elements.
  Bytes dispatched() const;
  int64_t layer_parameters() const;      ///< (2 h (h + w) + M h f) / t; with experts those of attention and router
  int64_t expert_parameters() const;     ///< E / expert_parallel x M h f / t; 0 without experts
  int64_t embedding_parameters() const;  ///< ceil(V / t) h
  /// What one of the data-parallel replicas keeps of a layer: ceil(layer_parameters / data_parallel).
  int64_t layer_shard() const;
  Bytes bytes_of(int64_t elements) const;
  /// The same of a layer's experts, of data_parallel / expert_parallel replicas.
  int64_t expert_shard() const;
  /// flops / peak in microseconds, rounded up, at least 1.
  uint64_t duration_micros(const Work& work) const;

 private:
  bool has_experts() const { return model_.experts > 1; }

  const TransformerModel& model_;
  int64_t tokens_;            ///< b s
  int64_t ffn_shard_;         ///< f / t
  int64_t key_value_shard_;   ///< w / t
  int64_t matrices_;          ///< M
  int64_t vocabulary_shard_;  ///< ceil(V / t)
};

/// The work of the backward pass of `forward`: the gradients of inputs and of weights.
Work backward(const Work& forward);

}  // namespace rankwire
