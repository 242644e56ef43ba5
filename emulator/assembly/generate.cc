#include "emulator/assembly/generate.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "converters/collective_series.h"
#include "converters/dlrm.h"
#include "converters/inference.h"
#include "converters/mlp.h"
#include "converters/transformer.h"
#include "emulator/input/validate_generate.h"

namespace rankwire {
namespace {

MlpModel mlp_model(const GenerateConfig& c) {
  return {.layers = c.mlp.layers,
          .width = c.mlp.width,
          .batch = c.mlp.batch,
          .element = c.element,
          .model_parallel = c.mlp.model_parallel,
          .data_parallel = c.mlp.data_parallel,
          .order = c.mlp.data_first ? MlpModel::Order::kModelData : MlpModel::Order::kDataModel,
          .peak_flops = c.peak_flops,
          .steps = c.transformer.steps,
          .storage = c.transformer.storage};
}

DlrmModel dlrm_model(const GenerateConfig& c) {
  return {.ranks = c.dlrm.ranks,
          .batch = c.dlrm.batch,
          .tables = c.dlrm.tables,
          .embedding = c.dlrm.embedding,
          .lookups = c.dlrm.lookups,
          .dense = c.dlrm.dense,
          .bottom = c.dlrm.bottom,
          .top = c.dlrm.top,
          .element = c.element,
          .peak_flops = c.peak_flops,
          .rows = c.dlrm.rows,
          .steps = c.transformer.steps,
          .storage = c.transformer.storage};
}

CollectiveSeries collective_series(const CollectiveSeriesConfig& c) {
  return {.series = c.series(), .warmup = c.warmup, .iterations = c.iterations, .root = c.root, .barrier = c.barrier};
}

std::optional<ServingPool> serving_pool(const std::optional<ServingPoolConfig>& c) {
  if (!c) return std::nullopt;
  return ServingPool{.instances = c->instances,
                     .tensor_parallel = c->tensor_parallel,
                     .expert_parallel = c->expert_parallel,
                     .max_tokens = c->max_tokens,
                     .max_requests = c->max_requests,
                     .chunked = c->chunked,
                     .kv_memory = c->kv_memory.value_or(Bytes())};
}

TokenCounts::Shape token_shape(TokenSpread spread) {
  switch (spread) {
    case TokenSpread::kFixed:
      return TokenCounts::Shape::kFixed;
    case TokenSpread::kUniform:
      return TokenCounts::Shape::kUniform;
    case TokenSpread::kExponential:
      return TokenCounts::Shape::kExponential;
    case TokenSpread::kLognormal:
      return TokenCounts::Shape::kLognormal;
  }
  return TokenCounts::Shape::kFixed;
}

TokenCounts token_counts(const TokensConfig& c) {
  return {.shape = token_shape(c.distribution), .mean = c.mean, .least = c.least, .most = c.most, .cv = c.cv};
}

ArrivalProcess arrival_process(ArrivalName name) {
  switch (name) {
    case ArrivalName::kPoisson:
      return ArrivalProcess::kPoisson;
    case ArrivalName::kGamma:
      return ArrivalProcess::kGamma;
    case ArrivalName::kCsv:
      return ArrivalProcess::kFile;
  }
  return ArrivalProcess::kPoisson;
}

RequestModel request_model(const InferenceConfig& c) {
  return {.process = arrival_process(c.arrivals.process),
          .rate = c.arrivals.rate,
          .cv = c.arrivals.cv,
          .file = c.arrivals.file,
          .requests = c.arrivals.requests,
          .duration = c.arrivals.duration,
          .seed = c.arrivals.seed,
          .input = token_counts(c.input),
          .output = token_counts(c.output),
          .hit_ppm = c.cache.hit_ppm,
          .prefix_ppm = c.cache.prefix_ppm,
          .local_ppm = c.cache.local_hit_ppm};
}

ServingModel serving_model(const GenerateConfig& c) {
  const AttentionConfig& attention = c.inference.attention;
  return {.layers = c.transformer.layers,
          .hidden = c.transformer.hidden,
          .vocabulary = c.transformer.vocabulary,
          .ffn = c.transformer.ffn,
          .gated = c.transformer.gated,
          .experts = c.transformer.experts,
          .experts_per_token = c.transformer.experts_per_token,
          .expert_ffn = c.transformer.expert_ffn,
          .shared_experts = c.transformer.shared_experts,
          .dense_layers = c.transformer.dense_layers,
          .routing = c.transformer.routing,
          .element = c.element,
          .attention = {.heads = attention.heads,
                        .kv_heads = attention.kv_heads,
                        .head_dim = attention.head_dim,
                        .latent = attention.latent,
                        .rope = attention.rope,
                        .query_latent = attention.query_latent},
          .prefill = serving_pool(c.inference.prefill),
          .decode = serving_pool(c.inference.decode),
          .mixed = serving_pool(c.inference.mixed),
          .kv_transfer = c.inference.layerwise ? KvTransfer::kLayers : KvTransfer::kWhole,
          .requests = request_model(c.inference),
          .cache_ranks = c.inference.cache.ranks,
          .cache_bandwidth = c.inference.cache.bandwidth,
          .local_cache_bandwidth = c.inference.cache.local_bandwidth,
          .peak_flops = c.peak_flops,
          .memory_bandwidth = c.inference.memory_bandwidth,
          .network = c.inference.network};
}

GeneratedTraces generate_set(const GenerateConfig& config, const NodeFiles& set) {
  switch (config.kind) {
    case GeneratedKind::kTransformer:
      return generate_transformer(config.whole_transformer(), set);
    case GeneratedKind::kMlp:
      return generate_mlp(mlp_model(config), set);
    case GeneratedKind::kDlrm:
      return generate_dlrm(dlrm_model(config), set);
    case GeneratedKind::kCollective:
      return generate_collective_series(collective_series(config.collective), set);
    case GeneratedKind::kInference:
      return generate_inference(serving_model(config), set);
    case GeneratedKind::kNodes:
      return write_node_list(listed_nodes(config.nodes), set);
    case GeneratedKind::kMicro:
      return write_node_list(find_micro_case(config.micro_case)->nodes(config.micro), set);
  }
  return {};
}

/// Whether it is about the whole description: it begins with the name of a generator, or is about sizes that come of
/// several keys.
bool is_of_whole(std::string_view text) {
  constexpr std::array<std::string_view, 5> kBegins = {"the model is too large",
                                                       "transformer: ", "mlp: ", "dlrm: ", "inference: "};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return text.starts_with(begin); });
}

/// Errors of what only generating shows begin with a key of an inference service, or are about the whole.
GeneratedTraces generate_located(const GenerateConfig& config, const GenerateKeys& keys, const NodeFiles& set) {
  try {
    return generate_set(config, set);
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.starts_with("inference.")) throw Error(error.kind(), keys.places.located(keys.section + text));
    if (!is_of_whole(text)) throw;
    const std::string whole =
        keys.section.empty() ? "kind" : keys.section.substr(0, keys.section.size() - 1);  // without its dot
    throw Error(error.kind(), fmt::format("{}: {}", keys.places.of(whole), text));
  }
}

}  // namespace

GeneratedTraces generate(const GenerateConfig& config, const GenerateKeys& keys, const std::string& prefix,
                         NodeLimit& limit) {
  if (limit.exists()) {
    // Whoever generates too much learns it now, not when the disk has filled up.
    generate_located(config, keys, NodeFiles::only_counted(&limit));
    limit.restart();
  }
  try {
    return generate_located(config, keys, {prefix, &limit});
  } catch (...) {
    std::error_code ignored;
    for (uint64_t rank = 0; rank < generated_ranks(config); ++rank)
      std::filesystem::remove(trace_file(prefix, static_cast<uint32_t>(rank)), ignored);
    throw;
  }
}

}  // namespace rankwire
