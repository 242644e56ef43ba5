#include "emulator/traces/exposure.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace rankwire {
namespace {

struct PublicModel {
  const char* name;
  uint64_t hidden, inner, key_value, vocabulary;  ///< `inner`: of the feed-forward; `key_value`: width of keys, values
};

// From the config.json that is published with each model's weights; GPT-3 from its paper (arXiv:2005.14165, table 2.1).
constexpr PublicModel kModels[] = {
    {"BERT large", 1024, 4096, 1024, 30522},    {"GPT-2", 768, 3072, 768, 50257},
    {"GPT-2 XL", 1600, 6400, 1600, 50257},      {"GPT-3 175B", 12288, 49152, 12288, 50257},
    {"Llama 2 7B", 4096, 11008, 4096, 32000},   {"Llama 2 13B", 5120, 13824, 5120, 32000},
    {"Llama 2 70B", 8192, 28672, 1024, 32000},  {"Llama 3 8B", 4096, 14336, 1024, 128256},
    {"Llama 3 70B", 8192, 28672, 1024, 128256}, {"Llama 3.1 405B", 16384, 53248, 1024, 128256},
    {"Mixtral 8x7B", 4096, 14336, 1024, 32000}, {"Qwen2 72B", 8192, 29568, 1024, 152064},
    {"DeepSeek-V3", 7168, 18432, 7168, 129280},
};

uint64_t odd_part(uint64_t value) {
  return value == 0 ? 0 : value >> std::countr_zero(value);
}

/// Of an activation, of the matrices of a layer, of all of them together, and of the embedding.
std::set<uint64_t> odd_parts(const PublicModel& model) {
  const uint64_t h = model.hidden, attention = 2 * h * h + 2 * h * model.key_value;
  std::set<uint64_t> parts;
  for (const uint64_t size :
       {h, h * h, model.inner, h * model.inner, h * model.key_value, attention, attention + 2 * h * model.inner,
        attention + 3 * h * model.inner, model.vocabulary, model.vocabulary * h}) {
    parts.insert(odd_part(size));
  }
  parts.erase(1);
  return parts;
}

bool communicates(const chakra::Node& node) {
  return node.type() == chakra::COMM_COLL_NODE || node.type() == chakra::COMM_SEND_NODE ||
         node.type() == chakra::COMM_RECV_NODE;
}

}  // namespace

void Exposure::add(const chakra::Node& node) {
  ++nodes_;
  dependencies_ += static_cast<uint64_t>(node.data_deps_size()) + static_cast<uint64_t>(node.ctrl_deps_size());
  starts_ += node.start_time_micros() != 0 ? 1 : 0;
  names_.insert(node.name());
  ++types_[chakra::NodeType_IsValid(node.type()) ? chakra::NodeType_Name(node.type()) : std::to_string(node.type())];
  if (node.duration_micros() != 0) durations_.insert(node.duration_micros());
  for (const chakra::AttributeProto& attribute : node.attr()) {
    ++attributes_[attribute.name()];
    if (!communicates(node) || attribute.name() != "comm_size") continue;
    ++sizes_[static_cast<uint64_t>(std::max<int64_t>(0, attribute.int64_val()))];
    ++sized_;
  }
}

std::vector<ModelMatch> Exposure::matches() const {
  std::vector<ModelMatch> found;
  for (const PublicModel& model : kModels) {
    const std::set<uint64_t> parts = odd_parts(model);
    ModelMatch match{.model = model.name};
    for (const auto& [size, count] : sizes_) {
      if (parts.contains(odd_part(size))) match.operations += count;
    }
    if (match.operations > 0) found.push_back(match);
  }
  std::ranges::stable_sort(found, std::greater<>(), &ModelMatch::operations);
  return found;
}

nlohmann::ordered_json Exposure::to_json() const {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const ModelMatch& match : matches()) {
    models.push_back({{"model", match.model}, {"operations", match.operations}});
  }
  return {{"nodes", nodes_},        {"types", types_},           {"dependencies", dependencies_},
          {"names", names_.size()}, {"sizes", sizes_.size()},    {"durations", durations_.size()},
          {"starts", starts_},      {"attributes", attributes_}, {"sized_operations", sized_},
          {"models", models}};
}

std::string Exposure::to_text() const {
  std::string text = "still in there:\n";
  const auto row = [&](const char* what, uint64_t count, const char* tells) {
    text += fmt::format("  {:<24} {:>10}  {}\n", what, count, tells);
  };
  row("nodes", nodes_, "how much work a step has");
  row("dependencies", dependencies_, "the order of the work: repeated layers can be counted");
  row("distinct names", names_.size(), "which operations are of one kind, not which kind");
  row("distinct message sizes", sizes_.size(), "widths, where sizes are kept; their ratios, where they are shifted");
  row("distinct durations", durations_.size(), "the accelerator, by its speed");
  row("start times", starts_, "how long the step took, not when it was");
  for (const auto& [type, count] : types_) row(type.c_str(), count, "");
  for (const auto& [name, count] : attributes_) row(name.c_str(), count, "attribute");
  const std::vector<ModelMatch> models = matches();
  if (models.empty()) return text + "no size points to a public model\n";
  text += fmt::format("sizes that point to public models, of {} operations with a size:\n", sized_);
  for (const ModelMatch& match : models) text += fmt::format("  {:<24} {:>10}\n", match.model, match.operations);
  return text;
}

}  // namespace rankwire
