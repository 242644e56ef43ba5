#include "emulator/input/transformer_preset.h"

#include <fmt/format.h>

#include "converters/model_presets.h"
#include "emulator/input/nearest_key.h"

namespace rankwire {
namespace {

/// Adds keys to a map that stand where the name of the model does.
class PresetKeys {
 public:
  PresetKeys(Tree& map, const Origin& origin) : map_(map), origin_(origin) {}

  template <class Number>
  void number(const char* key, Number value) {
    add(key,
        {.kind = Tree::Kind::kScalar, .origin = origin_, .text = fmt::to_string(value), .items = {}, .entries = {}});
  }
  void flag(const char* key, bool value) {
    add(key,
        {.kind = Tree::Kind::kScalar, .origin = origin_, .text = value ? "on" : "off", .items = {}, .entries = {}});
  }
  /// The map of a section, which is made where it is absent.
  Tree& section(const char* key) {
    add(key, {.kind = Tree::Kind::kMap, .origin = origin_, .text = {}, .items = {}, .entries = {}});
    return *map_.find(key);
  }

 private:
  void add(const char* key, Tree value) {
    if (map_.find(key) == nullptr) map_.entries.push_back({.key = key, .origin = origin_, .value = std::move(value)});
  }

  Tree& map_;
  const Origin origin_;
};

void add_experts(PresetKeys& keys, const ModelPreset& model) {
  keys.number("experts", model.experts);
  keys.number("experts_per_token", model.experts_per_token);
  keys.number("expert_ffn", model.expert_ffn);
  keys.number("shared_experts", model.shared_experts);
  keys.number("dense_layers", model.dense_layers);
}

/// What a service takes of a model.
void expand_service(Tree& generate, const ModelPreset& model, const Origin& origin) {
  PresetKeys keys(generate, origin);
  keys.number("layers", model.layers);
  keys.number("hidden", model.hidden);
  keys.number("vocabulary", model.vocabulary);
  keys.number("ffn", model.ffn);
  keys.flag("gated", model.gated);
  add_experts(keys, model);
  Tree& service = keys.section("inference");
  if (service.kind != Tree::Kind::kMap) return;
  Tree& section = PresetKeys(service, origin).section("attention");
  if (section.kind != Tree::Kind::kMap) return;
  PresetKeys attention(section, origin);
  attention.number("heads", model.heads);
  attention.number("kv_heads", model.key_value_heads);
  attention.number("head_dim", model.head_size);
  if (!model.latent.used()) return;
  attention.number("latent", model.latent.key_value);
  attention.number("rope", model.latent.rope);
  attention.number("query_latent", model.latent.query);
}

}  // namespace

std::string PublishedName::parse(const Tree& scalar) const {
  if (scalar.text == "none") return {};
  if (find_model(scalar.text) != nullptr) return scalar.text;
  std::vector<std::string> names;
  std::string all;
  for (const ModelPreset& model : model_presets()) {
    names.emplace_back(model.name);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", model.name);
  }
  const std::string near = nearest_name(scalar.text, names);
  throw ValueError(near.empty() ? fmt::format("'{}' is not one of {}", scalar.text, all)
                                : fmt::format("'{}' is unknown; did you mean '{}'?", scalar.text, near));
}

void expand_preset(Tree& generate) {
  const Tree* name = generate.kind == Tree::Kind::kMap ? generate.find("model") : nullptr;
  const ModelPreset* model = name != nullptr && name->kind == Tree::Kind::kScalar ? find_model(name->text) : nullptr;
  if (model == nullptr) return;
  const Tree* kind = generate.find("kind");
  if (kind != nullptr && kind->kind == Tree::Kind::kScalar && kind->text == "inference")
    return expand_service(generate, *model, Origin(name->origin));
  PresetKeys keys(generate, Origin(name->origin));
  keys.number("layers", model->layers);
  keys.number("hidden", model->hidden);
  keys.number("sequence", model->sequence);
  keys.number("vocabulary", model->vocabulary);
  keys.flag("tied_embeddings", model->tied_embeddings);
  keys.number("ffn", model->ffn);
  keys.flag("gated", model->gated);
  keys.number("heads", model->heads);
  keys.number("key_value_heads", model->key_value_heads);
  keys.number("head_size", model->head_size);
  add_experts(keys, *model);
  if (!model->latent.used()) return;
  Tree& section = keys.section("latent");
  if (section.kind != Tree::Kind::kMap) return;
  PresetKeys latent(section, section.origin);
  latent.number("query", model->latent.query);
  latent.number("key_value", model->latent.key_value);
  latent.number("rope", model->latent.rope);
}

}  // namespace rankwire
