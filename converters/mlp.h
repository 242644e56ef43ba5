// Traces of one training step of a multi-layer perceptron under model and data parallelism: the workloads MLP of
// ASTRA-sim, with traffic that follows from the partition of its matrices.
//
// Each of m shards has h / m columns of every h x h matrix, so that with b samples a replica
//
//   forward   a shard computes b x h / m outputs, which are all-gathered over the model-parallel group (input
//             b h / m elements), for the next layer needs all of them
//   backward  the gradient of a layer's inputs is a sum over shards, of which each needs its own columns:
//   reduce-scatter
//             of b h elements; not in the first layer, which has nobody to give it to
//   data      the gradients of a layer's h^2 / m parameters are all-reduced over the d replicas, beside what follows
//
// A degree of 1 causes no communication. Biases and activation functions are left out. In the backward pass a layer
// computes the gradient of its inputs first, and that of its weights while the former travels.
#pragma once

#include <cstdint>
#include <string>

#include "converters/generated_traces.h"
#include "converters/storage_model.h"

namespace rankwire {

struct MlpModel {
  /// Which ranks are neighbours: those of a model-parallel group (ASTRA-sim's HYBRID_DATA_MODEL, whose first dimension
  /// is the model's), or the replicas of a shard (HYBRID_MODEL_DATA).
  enum class Order : uint8_t { kDataModel, kModelData };

  uint32_t layers = 4;
  int64_t width = 1024;      ///< h, a multiple of model_parallel
  int64_t batch = 64;        ///< b, samples of a replica
  Bytes element = Bytes(2);  ///< of parameters, gradients and activations
  uint32_t model_parallel = 2;
  uint32_t data_parallel = 2;
  Order order = Order::kDataModel;
  int64_t peak_flops = 100'000'000'000'000;  ///< flop/s; a compute node takes flops / peak, at least 1 us
  uint32_t steps = 1;
  StorageModel storage;
};

/// How many ranks train the model; those of storage come behind them. Throws Error(kInput) for a model that cannot be
/// divided as asked.
uint32_t mlp_ranks(const MlpModel& model);

/// Writes `<prefix>.<rank>.et` for every rank and the groups mp_<replica> and dp_<shard> into `<prefix>.json`; errors
/// and guarantees are those of generate_transformer.
GeneratedTraces generate_mlp(const MlpModel& model, const NodeFiles& set);

}  // namespace rankwire
