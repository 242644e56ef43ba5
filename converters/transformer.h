// Traces of training steps of a GPT-style transformer, dense or with experts, divided in every way that is in use.
//
// Ranks stand in Megatron-LM's order: tensor-parallel position fastest, then context, data, pipeline (Narayanan et al.,
// SC21, section 3; the order "tp-cp-dp-pp" of its RankGenerator); or context and data fastest, then tensor, then
// pipeline ("cp-dp-tp-pp"). Groups are named in transformer_places.h; a degree of 1 causes no communication.
//
// A step runs the micro-batches in the order of a pipeline schedule (pipeline_schedule.h) and then updates the
// parameters. What is sent, by dimension:
//
//   tensor    two all-reduces of the activations a layer, micro-batch and pass (Shoeybi et al. 2019, section 3), one
//             for the embedding's output (first stage) and one for the gradient of the logits' input (last stage). With
//             sequence parallelism an all-gather before and a reduce-scatter behind each block stand for them, and the
//             backward pass gathers a block's input once more, beside its computation (Korthikanti et al. 2022, 4.2)
//   context   each rank has 1 / c of every sequence (transformer_attention.h)
//   pipeline  activations to the next stage, their gradients back (DualPipe: also from the last stage on); tag 2 (m v +
//   i) for activations of micro-batch m that
//             part i of v of a stage sends, one more for their gradients
//   data      gradients and parameters, by ZeRO's stages (transformer_parameters.h)
//   experts   tokens to their experts and back (transformer_experts.h)
//   storage   samples before a step and checkpoints behind it (transformer_state.h, storage.h)
//
// Biases and layer norms (13 h of a layer's 12 h^2 + 13 h parameters), position embeddings and dropout are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "converters/expert_routing.h"
#include "converters/generated_traces.h"
#include "converters/model_presets.h"
#include "converters/pipeline_schedule.h"
#include "converters/storage_model.h"

namespace rankwire {

struct TransformerModel {
  /// Which ranks are neighbours: those of a tensor-parallel group, or the replicas of a shard.
  enum class Order : uint8_t { kTensorData, kDataTensor };
  /// How attention reaches tokens of other ranks: keys and values go round (Liu et al., Ring Attention, 2023), or heads
  /// are exchanged for tokens (Jacobs et al., DeepSpeed-Ulysses, 2023).
  enum class Context : uint8_t { kRing, kAllToAll };
  /// Which scores are computed: all, as Narayanan et al. count; those of earlier tokens, where each rank has an early
  /// and a late part of the sequence; the same, where each rank has one part.
  enum class Causal : uint8_t { kOff, kBalanced, kContiguous };

  uint32_t layers = 4;           ///< a multiple of pipeline_parallel x virtual_stages
  int64_t hidden = 1024;         ///< a multiple of tensor_parallel
  int64_t sequence = 512;        ///< tokens
  int64_t vocabulary = 32000;    ///< padded up to a multiple of tensor_parallel
  uint32_t micro_batches = 2;    ///< per replica and step; gradients of all are accumulated
  int64_t micro_batch_size = 1;  ///< sequences
  Bytes element = Bytes(2);      ///< of parameters, gradients and activations
  uint32_t tensor_parallel = 2;
  uint32_t pipeline_parallel = 1;
  uint32_t data_parallel = 2;
  uint32_t zero = 1;      ///< stage of ZeRO, 0 .. 3
  int64_t ffn = 0;        ///< width of the MLP, a multiple of tensor_parallel; 0: 4 h
  bool gated = false;     ///< the MLP has three matrices instead of two (SwiGLU; Shazeer 2020)
  int64_t key_value = 0;  ///< width of keys and of values, a multiple of tensor_parallel; 0: as the heads say, or h
  uint32_t experts = 1;   ///< of a layer, a multiple of expert_parallel; 1: no router
  uint32_t experts_per_token = 1;  ///< k, at most `experts`
  uint32_t expert_parallel = 1;    ///< divides data_parallel x context_parallel
  Order order = Order::kTensorData;
  int64_t peak_flops = 100'000'000'000'000;  ///< flop/s; a compute node takes flops / peak, at least 1 us

  std::string preset;            ///< the published model whose dimensions these are, or empty
  int64_t heads = 0;             ///< of queries; 0: not known, they are as wide as h
  int64_t key_value_heads = 0;   ///< 0: as many as `heads`
  int64_t head_size = 0;         ///< 0: hidden / heads
  LatentAttention latent = {};   ///< needs `heads`
  bool tied_embeddings = true;   ///< input and output have the same weights
  int64_t expert_ffn = 0;        ///< width of an expert; 0: as `ffn`
  uint32_t shared_experts = 0;   ///< of a layer with experts, through which every token goes
  uint32_t dense_layers = 0;     ///< the first ones, which have no experts
  uint32_t expert_interval = 1;  ///< every n-th of the other layers has experts, the last of each n
  RoutingModel routing;          ///< how tokens choose
  bool sequence_parallel = false;
  uint32_t context_parallel = 1;
  Context context = Context::kRing;
  Causal causal = Causal::kOff;
  PipelineOrder pipeline = PipelineOrder::kOneForwardOneBackward;
  uint32_t virtual_stages = 1;            ///< parts of a stage, v
  std::vector<uint32_t> pipeline_layers;  ///< of each stage, of all parts 0 first; empty: as many in each
  uint32_t shard_replicas = 1;  ///< how often parameters, gradients and optimizer state are kept (hybrid sharding)
  bool reshard_after_forward = true;  ///< zero 3: the backward pass gathers a layer's parameters again
  uint32_t prefetch = 1;              ///< zero 3: of how many further layers parameters are gathered beforehand
  bool overlap = true;                ///< gradients and parameters travel beside computations
  uint32_t steps = 1;                 ///< one after the other
  StorageModel storage;

  bool operator==(const TransformerModel&) const = default;

  /// Replicas of a shard's parameters: those of data parallelism, each with its ranks of context parallelism.
  uint32_t data_ranks() const { return data_parallel * context_parallel; }
  bool goes_both_ways() const { return pipeline == PipelineOrder::kDualPipe; }
  uint32_t parts_of_stage() const { return goes_both_ways() ? 2 : virtual_stages; }
  /// Ranks with the same parameters of a shard: with DualPipe those of a stage and of its opposite.
  uint32_t parameter_ranks() const { return data_ranks() * (goes_both_ways() ? 2 : 1); }
  /// The last of those that go the same way, whose gradients are added up.
  bool ends_accumulation(uint32_t micro_batch) const {
    return micro_batch + 1 == micro_batches || (goes_both_ways() && micro_batch + 1 == micro_batches / 2);
  }
  bool has_experts(uint32_t layer) const {
    return experts > 1 && layer >= dense_layers && (layer - dense_layers) % expert_interval == expert_interval - 1;
  }
};

/// The first contradiction, or nothing.
std::optional<WrongModel> wrong_transformer(const TransformerModel& model);

/// How many ranks train the model; those of storage come behind them. Throws Error(kInput) for a model that cannot be
/// divided as asked.
uint32_t transformer_ranks(const TransformerModel& model);

/// Writes `<prefix>.<rank>.et` (Chakra 1.0.0) for every rank and `<prefix>.json`, the process groups; the folder must
/// exist. Equal models give equal bytes. Nodes depend through data_deps on earlier nodes only. Throws Error(kInput) for
/// a model that cannot be divided as asked or whose sizes exceed 2^63 - 1 and for a wrong file of recorded tokens,
/// Error(kRun) when a file cannot be written.
GeneratedTraces generate_transformer(const TransformerModel& model, const NodeFiles& set);

}  // namespace rankwire
