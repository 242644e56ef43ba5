// Traces of one training step of a GPT-style transformer under tensor, pipeline and data parallelism.
//
// Ranks stand in Megatron-LM's order: tensor-parallel position fastest, then data, then pipeline:
// rank = (stage * data_parallel + replica) * tensor_parallel + shard (Narayanan et al., SC21, section 3); or with the
// data position fastest, then tensor, then pipeline, as Megatron-LM's RankGenerator has it for the order "dp-tp-pp".
//
// A step runs the micro-batches in the 1F1B order (ibid., section 2.2) and then updates the parameters:
//
//   tensor    two all-reduces of the activations a layer, micro-batch and pass (Shoeybi et al. 2019, section 3), one
//             for the embedding's output (first stage) and one for the gradient of the logits' input (last stage)
//   pipeline  activations to the next stage, their gradients back; tag 2m for activations of micro-batch m, 2m + 1 for
//             gradients
//   data      the gradients of a layer are reduce-scattered once its last backward pass is done, and its parameters are
//             all-gathered after the optimizer (ZeRO stage 1; Rajbhandari et al., SC20); with stage 2 no replica keeps
//             gradients that are not its own, so they are reduce-scattered in every micro-batch. The gradients of the
//             embedding, whose optimizer state is not sharded, are all-reduced, and then between first and last stage,
//             which share it
//   experts   with E experts (Shazeer et al. 2017; Lepikhin et al., GShard, ICLR 2021) of which each token goes to k, a
//             router chooses, an all-to-all takes the tokens to their experts and another one the results back, in each
//             layer, micro-batch and pass: b s k h elements of every rank, as if all experts were chosen as often. The
//             experts of a layer are divided over `expert_parallel` neighbouring replicas; their gradients and
//             parameters are exchanged by the replicas that have the same ones
//
// A degree of 1 causes no communication. Groups are tp_<stage * data_parallel + replica>,
// dp_<stage * tensor_parallel + shard>, embedding_<replica * tensor_parallel + shard>, and of p = expert_parallel
// ep_<(stage * data_parallel / p + replica / p) * tensor_parallel + shard> and
// edp_<(stage * p + replica mod p) * tensor_parallel + shard>. Biases and layer norms (13 h of a layer's 12 h^2 + 13 h
// parameters), position embeddings and dropout are left out.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "converters/generated_traces.h"

namespace rankwire {

struct TransformerModel {
  /// Which ranks are neighbours: those of a tensor-parallel group, or the replicas of a shard.
  enum class Order : uint8_t { kTensorData, kDataTensor };

  uint32_t layers = 4;           ///< a multiple of pipeline_parallel
  int64_t hidden = 1024;         ///< a multiple of tensor_parallel
  int64_t sequence = 512;        ///< tokens
  int64_t vocabulary = 32000;    ///< padded up to a multiple of tensor_parallel
  uint32_t micro_batches = 2;    ///< per replica and step
  int64_t micro_batch_size = 1;  ///< sequences
  Bytes element = Bytes(2);      ///< of parameters, gradients and activations
  uint32_t tensor_parallel = 2;
  uint32_t pipeline_parallel = 1;
  uint32_t data_parallel = 2;
  uint32_t zero = 1;               ///< stage of ZeRO: 1 or 2
  int64_t ffn = 0;                 ///< width of the MLP, a multiple of tensor_parallel; 0: 4 h
  bool gated = false;              ///< the MLP has three matrices instead of two (SwiGLU; Shazeer 2020)
  int64_t key_value = 0;           ///< width of keys and of values, a multiple of tensor_parallel; 0: h
  uint32_t experts = 1;            ///< of a layer, a multiple of expert_parallel; 1: no router
  uint32_t experts_per_token = 1;  ///< k, at most `experts`
  uint32_t expert_parallel = 1;    ///< divides data_parallel
  Order order = Order::kTensorData;
  int64_t peak_flops = 100'000'000'000'000;  ///< flop/s; a compute node takes flops / peak, at least 1 us
};

/// How many ranks the model has. Throws Error(kInput) for a model that cannot be divided as asked.
uint32_t transformer_ranks(const TransformerModel& model);

/// Writes `<prefix>.<rank>.et` (Chakra 1.0.0) for every rank and `<prefix>.json`, the process groups; the folder must
/// exist. Equal models give equal bytes. Nodes depend through data_deps on earlier nodes only. Throws Error(kInput) for
/// a model that cannot be divided as asked or whose sizes exceed 2^63 - 1, Error(kRun) when a file cannot be written.
GeneratedTraces generate_transformer(const TransformerModel& model, const std::string& prefix);

}  // namespace rankwire
