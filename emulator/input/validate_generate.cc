#include "emulator/input/validate_generate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <sstream>
#include <string>
#include <string_view>

#include "converters/storage.h"
#include "emulator/input/validate_inference.h"

namespace rankwire {
namespace {

/// A description with the places of its keys.
struct Description {
  const GenerateConfig& model;
  const Tree& root;
  const std::string& prefix;

  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    fail_key(root, prefix + key, format, std::forward<Args>(args)...);
  }
  /// Whether the key, of this level, is written, and not one of those for which `model` stands.
  bool has(const std::string& key) const {
    const Tree& keys = prefix.empty() ? root : nearest(root, prefix.substr(0, prefix.size() - 1));
    const Tree *const value = keys.find(key), *const preset = keys.find("model");
    return value != nullptr && (preset == nullptr || value->origin.place != preset->origin.place);
  }
  void check_multiple(const char* key, int64_t value, const char* parts_key, int64_t parts) const {
    if (value % parts != 0) fail(key, "{} is not a multiple of {} {}", value, parts_key, parts);
  }
};

void check_transformer(const Description& is) {
  const auto wrong = wrong_transformer(is.model.whole_transformer());
  if (!wrong) return;
  if (!is.has(wrong->key)) {
    // A number of `model`, or a default: what divides it, such as "2 x context_parallel", is what was written.
    std::istringstream words(wrong->divisors);
    for (std::string word; words >> word;) {
      if (is.has(word)) is.fail(word, "{} {}", wrong->key, wrong->text);
    }
  }
  is.fail(wrong->key, "{}", wrong->text);
}

/// Of `steps` and `storage`, which kinds of training have in common.
void check_storage(const Description& is) {
  const TransformerModel& common = is.model.transformer;
  if (const auto wrong = wrong_storage(common.storage, common.steps)) is.fail(wrong->key, "{}", wrong->text);
}

void check_dlrm(const Description& is) {
  const DlrmConfig& model = is.model.dlrm;
  is.check_multiple("dlrm.tables", model.tables, "dlrm.ranks", model.ranks);
  if (model.bottom.empty()) is.fail("dlrm.bottom", "has no layers");
  if (model.top.empty()) is.fail("dlrm.top", "has no layers");
  if (model.bottom.back() != model.embedding)
    is.fail("dlrm.bottom", "ends with {} outputs, but dlrm.embedding is {}", model.bottom.back(), model.embedding);
}

void check_collective(const Description& is) {
  const CollectiveSeriesConfig& model = is.model.collective;
  const MeasuredSeries series = model.series();
  const MeasuredTraits& traits = traits_of(model.operation);
  if (model.smallest > model.largest)
    is.fail("collective.min", "{} B is above collective.max {} B", model.smallest.count, model.largest.count);
  if (model.smallest.count % series.element.count != 0)
    is.fail("collective.min", "{} B is not a whole number of elements of {} B ({})", model.smallest.count,
            series.element.count, model.datatype);
  if (traits.rooted && model.root >= model.ranks)
    is.fail("collective.root", "{} is no rank; there are 0 to {}", model.root, model.ranks - 1);
  if (model.operation == MeasuredCollective::kHypercube && !std::has_single_bit(model.ranks))
    is.fail("collective.ranks", "{} is not a power of two, as a hypercube needs", model.ranks);
  if (const int64_t step = series.step.count; step > 0) {
    constexpr int64_t kMostSizes = 65536;
    const int64_t sizes = (model.largest.count - model.smallest.count) / step + 1;
    if (sizes > kMostSizes)
      is.fail("collective.step", "{} B from {} B to {} B are {} sizes; a series has at most {}", step,
              model.smallest.count, model.largest.count, sizes, kMostSizes);
    if (model.factor != CollectiveSeriesConfig().factor)
      is.fail("collective.factor", "contradicts 'collective.step', which goes from one size to the next in its place");
  }
  if (measured_sizes(series).empty())
    is.fail("collective.max", "{} B leaves none of {} ranks 16 B; it must be at least {} B", model.largest.count,
            model.ranks, 16 * int64_t{model.ranks});
}

void check_nodes(const Description& is) {
  const std::vector<NodeConfig>& nodes = is.model.nodes;
  if (nodes.empty()) is.fail("nodes", "is required: a list of nodes, as in docs/traces.md");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto refuse = [&](const char* key, const char* kind) {
      is.fail(fmt::format("nodes[{}].{}", i, key), "is for 'kind: {}', not for {}", kind, to_string(nodes[i].kind));
    };
    if (!nodes[i].to.empty() && nodes[i].kind != ActionKind::kSend) refuse("to", "send");
    if (!nodes[i].from.empty() && nodes[i].kind != ActionKind::kReceive) refuse("from", "recv");
  }
  if (const auto wrong = wrong_node_list(listed_nodes(nodes)))
    is.fail(fmt::format("nodes[{}].{}", wrong->entry, wrong->key), "{}", wrong->text);
}

void check_micro(const Description& is) {
  if (is.model.micro_case.empty())
    is.fail("case", "is required of 'kind: micro'; `rankwire trace generate micro --list` prints which there are");
  if (is.model.micro.duration.ps % microseconds(1).ps != 0)
    is.fail("micro.duration", "is no whole number of microseconds, in which Chakra counts durations");
}

/// Keys of the transformer that describe what is served as well.
constexpr std::array<std::string_view, 12> kServedKeys = {
    "model",      "layers",         "hidden",       "vocabulary", "ffn", "gated", "experts", "experts_per_token",
    "expert_ffn", "shared_experts", "dense_layers", "routing"};

/// And what other kinds of training have.
constexpr std::array<std::string_view, 2> kTrainedKeys = {"steps", "storage"};

/// Keys of other kinds than the transformer.
constexpr std::array<std::string_view, 7> kKeysOfOthers = {"mlp",   "dlrm", "collective", "inference",
                                                           "nodes", "case", "micro"};

/// Keys of another kind would have no effect: they have their defaults, as in a resolved configuration.
void check_keys_of_kind(const Description& is, const char* kind) {
  const bool transformer = is.model.kind == GeneratedKind::kTransformer;
  GenerateConfig others = is.model;
  const GenerateConfig defaults;
  others.kind = defaults.kind, others.element = defaults.element, others.peak_flops = defaults.peak_flops;
  others.transformer = transformer ? defaults.transformer : is.model.transformer;
  others.mlp = is.model.kind == GeneratedKind::kMlp ? defaults.mlp : is.model.mlp;
  others.dlrm = is.model.kind == GeneratedKind::kDlrm ? defaults.dlrm : is.model.dlrm;
  others.collective = is.model.kind == GeneratedKind::kCollective ? defaults.collective : is.model.collective;
  const bool trained = is.model.kind == GeneratedKind::kMlp || is.model.kind == GeneratedKind::kDlrm;
  if (trained)
    others.transformer.steps = defaults.transformer.steps, others.transformer.storage = defaults.transformer.storage;
  const bool inference = is.model.kind == GeneratedKind::kInference;
  others.inference = inference ? defaults.inference : is.model.inference;
  if (is.model.kind == GeneratedKind::kNodes) others.nodes = defaults.nodes;
  if (is.model.kind == GeneratedKind::kMicro) others.micro_case = defaults.micro_case, others.micro = defaults.micro;
  if (inference) {
    TransformerModel& other = others.transformer;
    const TransformerModel& fallback = defaults.transformer;
    other.preset = fallback.preset;
    other.layers = fallback.layers, other.hidden = fallback.hidden, other.vocabulary = fallback.vocabulary;
    other.ffn = fallback.ffn, other.gated = fallback.gated;
    other.experts = fallback.experts, other.experts_per_token = fallback.experts_per_token;
    other.expert_ffn = fallback.expert_ffn, other.shared_experts = fallback.shared_experts;
    other.dense_layers = fallback.dense_layers, other.routing = fallback.routing;
  }
  if (others == defaults) return;
  const Tree& keys = is.prefix.empty() ? is.root : nearest(is.root, is.prefix.substr(0, is.prefix.size() - 1));
  for (const Tree::Entry& entry : keys.entries) {
    const bool common = entry.key == "kind" || entry.key == "data_type" || entry.key == "peak";
    const bool of_others = std::ranges::find(kKeysOfOthers, entry.key) != kKeysOfOthers.end();
    const bool served = inference && std::ranges::find(kServedKeys, entry.key) != kServedKeys.end();
    const bool of_training = trained && std::ranges::find(kTrainedKeys, entry.key) != kTrainedKeys.end();
    const bool of_micro = is.model.kind == GeneratedKind::kMicro && entry.key == "case";
    if (common || served || of_training || of_micro || entry.key == kind || (transformer && !of_others)) continue;
    fail_at(entry.origin, "{}{}: is not for 'kind: {}'", is.prefix, entry.key, kind);
  }
}

}  // namespace

uint64_t generated_ranks(const GenerateConfig& model) {
  switch (model.kind) {
    case GeneratedKind::kTransformer:
      return uint64_t{model.transformer.tensor_parallel} * model.transformer.pipeline_parallel *
                 model.transformer.data_ranks() +
             model.transformer.storage.ranks;
    case GeneratedKind::kMlp:
      return uint64_t{model.mlp.model_parallel} * model.mlp.data_parallel + model.transformer.storage.ranks;
    case GeneratedKind::kDlrm:
      return uint64_t{model.dlrm.ranks} + model.transformer.storage.ranks;
    case GeneratedKind::kCollective:
      return model.collective.ranks;
    case GeneratedKind::kInference:
      return served_ranks(model.inference);
    case GeneratedKind::kNodes:
      return listed_ranks(listed_nodes(model.nodes));
    case GeneratedKind::kMicro:
      return listed_ranks(find_micro_case(model.micro_case)->nodes(model.micro));
  }
  return 0;
}

void validate_generate(const GenerateConfig& model, const Tree& root, const std::string& prefix) {
  const Description is{model, root, prefix};
  switch (model.kind) {
    case GeneratedKind::kTransformer:
      check_keys_of_kind(is, "transformer");
      return check_transformer(is);
    case GeneratedKind::kMlp:
      check_keys_of_kind(is, "mlp");
      check_storage(is);
      return is.check_multiple("mlp.width", model.mlp.width, "mlp.model_parallel", model.mlp.model_parallel);
    case GeneratedKind::kDlrm:
      check_keys_of_kind(is, "dlrm");
      check_storage(is);
      return check_dlrm(is);
    case GeneratedKind::kCollective:
      check_keys_of_kind(is, "collective");
      return check_collective(is);
    case GeneratedKind::kInference:
      check_keys_of_kind(is, "inference");
      return validate_inference(model, root, prefix);
    case GeneratedKind::kNodes:
      check_keys_of_kind(is, "nodes");
      return check_nodes(is);
    case GeneratedKind::kMicro:
      check_keys_of_kind(is, "micro");
      return check_micro(is);
  }
}

}  // namespace rankwire
