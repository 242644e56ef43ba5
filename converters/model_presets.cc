#include "converters/model_presets.h"

#include <algorithm>
#include <array>

namespace rankwire {
namespace {

constexpr auto kPresets = std::to_array<ModelPreset>({
    {.name = "deepseek-v3",
     .source = "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437, section 4.2",
     .layers = 61,
     .hidden = 7'168,
     .heads = 128,
     .key_value_heads = 128,
     .head_size = 128,
     .ffn = 18'432,
     .vocabulary = 129'280,
     .sequence = 4'096,
     .experts = 256,
     .experts_per_token = 8,
     .shared_experts = 1,
     .expert_ffn = 2'048,
     .dense_layers = 3,
     .latent = {.query = 1'536, .key_value = 512, .rope = 64}},
    {.name = "gpt3-175b",
     .source = "Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020, table 2.1",
     .layers = 96,
     .hidden = 12'288,
     .heads = 96,
     .key_value_heads = 96,
     .head_size = 128,
     .ffn = 49'152,
     .gated = false,
     .vocabulary = 50'257,
     .tied_embeddings = true,
     .sequence = 2'048},
    {.name = "llama3-405b",
     .source = "Llama Team, The Llama 3 Herd of Models, arXiv 2407.21783, table 3",
     .layers = 126,
     .hidden = 16'384,
     .heads = 128,
     .key_value_heads = 8,
     .head_size = 128,
     .ffn = 53'248,
     .vocabulary = 128'256,
     .sequence = 8'192},
    {.name = "llama3-70b",
     .source = "Llama Team, The Llama 3 Herd of Models, arXiv 2407.21783, table 3",
     .layers = 80,
     .hidden = 8'192,
     .heads = 64,
     .key_value_heads = 8,
     .head_size = 128,
     .ffn = 28'672,
     .vocabulary = 128'256,
     .sequence = 8'192},
    {.name = "llama3-8b",
     .source = "Llama Team, The Llama 3 Herd of Models, arXiv 2407.21783, table 3",
     .layers = 32,
     .hidden = 4'096,
     .heads = 32,
     .key_value_heads = 8,
     .head_size = 128,
     .ffn = 14'336,
     .vocabulary = 128'256,
     .sequence = 8'192},
    {.name = "mixtral-8x22b",
     .source = "Mistral AI, configuration of Mixtral-8x22B-v0.1, 2024",
     .layers = 56,
     .hidden = 6'144,
     .heads = 48,
     .key_value_heads = 8,
     .head_size = 128,
     .ffn = 16'384,
     .vocabulary = 32'000,
     .sequence = 65'536,
     .experts = 8,
     .experts_per_token = 2,
     .expert_ffn = 16'384},
    {.name = "mixtral-8x7b",
     .source = "Jiang et al., Mixtral of Experts, arXiv 2401.04088, table 1",
     .layers = 32,
     .hidden = 4'096,
     .heads = 32,
     .key_value_heads = 8,
     .head_size = 128,
     .ffn = 14'336,
     .vocabulary = 32'000,
     .sequence = 32'768,
     .experts = 8,
     .experts_per_token = 2,
     .expert_ffn = 14'336},
});
static_assert(std::ranges::is_sorted(kPresets, {}, &ModelPreset::name));

int64_t matrices(const ModelPreset& model) {
  return model.gated ? 3 : 2;
}

/// With as many experts in each layer that has some.
int64_t parameters_with(const ModelPreset& model, int64_t experts) {
  const int64_t sparse = model.experts > 1 ? model.layers - model.dense_layers : 0;
  const int64_t router = model.hidden * model.experts;
  return model.layers * attention_parameters(model) + (model.layers - sparse) * mlp_parameters(model) +
         sparse * (router + (experts + model.shared_experts) * expert_parameters(model)) +
         (model.tied_embeddings ? 1 : 2) * model.vocabulary * model.hidden;
}

}  // namespace

std::span<const ModelPreset> model_presets() {
  return kPresets;
}

const ModelPreset* find_model(std::string_view name) {
  const auto found = std::ranges::find(kPresets, name, &ModelPreset::name);
  return found == kPresets.end() ? nullptr : &*found;
}

int64_t attention_parameters(const ModelPreset& model) {
  const int64_t output = model.heads * model.head_size * model.hidden;
  if (!model.latent.used()) return 2 * output + 2 * model.hidden * model.key_value_heads * model.head_size;
  const LatentAttention& latent = model.latent;
  const int64_t query = latent.query * (model.hidden + model.heads * (model.head_size + latent.rope));
  const int64_t key_value =
      model.hidden * (latent.key_value + latent.rope) + latent.key_value * model.heads * 2 * model.head_size;
  return query + key_value + output;
}

int64_t mlp_parameters(const ModelPreset& model) {
  return matrices(model) * model.hidden * model.ffn;
}

int64_t expert_parameters(const ModelPreset& model) {
  return matrices(model) * model.hidden * model.expert_ffn;
}

int64_t model_parameters(const ModelPreset& model) {
  return parameters_with(model, model.experts);
}

int64_t active_parameters(const ModelPreset& model) {
  return parameters_with(model, model.experts_per_token);
}

}  // namespace rankwire
