// Published dimensions of well-known transformers, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rankwire {

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): queries, keys and values pass through
/// narrow projections, and positions are in further elements of each head. All 0: ordinary attention.
struct LatentAttention {
  int64_t query = 0;      ///< width of the compressed queries
  int64_t key_value = 0;  ///< width of what keys and values are made of, which is also what a cache keeps
  int64_t rope = 0;       ///< further elements of a head of queries, and of the one key that all heads share

  bool used() const { return key_value > 0; }
  bool operator==(const LatentAttention&) const = default;
};

/// Names and meanings are those of the keys of `workload.generate` (docs/configuration.md).
struct ModelPreset {
  std::string_view name;
  std::string_view source;  ///< where the dimensions are published
  uint32_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t key_value_heads = 0;
  int64_t head_size = 0;  ///< elements of a head of keys and of values, without those of positions
  int64_t ffn = 0;        ///< width of the MLP; of models without dense layers the same as `expert_ffn`
  bool gated = true;      ///< three matrices instead of two
  int64_t vocabulary = 0;
  bool tied_embeddings = false;  ///< the output has the weights of the input
  int64_t sequence = 0;          ///< tokens of a sequence in pre-training
  uint32_t experts = 1;
  uint32_t experts_per_token = 1;
  uint32_t shared_experts = 0;
  int64_t expert_ffn = 0;     ///< 0 without experts
  uint32_t dense_layers = 0;  ///< the first ones, which have no experts
  LatentAttention latent = {};
};

/// Ordered by name.
std::span<const ModelPreset> model_presets();
/// Null where there is no such model.
const ModelPreset* find_model(std::string_view name);

/// Weights of matrices: biases and norms are left out. Attention of a layer; a dense MLP; one expert; the router, the
/// embedding of the input, which an output that is not tied has once more.
int64_t attention_parameters(const ModelPreset& model);
int64_t mlp_parameters(const ModelPreset& model);
int64_t expert_parameters(const ModelPreset& model);
/// Of all layers, all experts, the input and the output.
int64_t model_parameters(const ModelPreset& model);
/// Of these, what one token passes: `experts_per_token` experts and the shared ones.
int64_t active_parameters(const ModelPreset& model);

}  // namespace rankwire
