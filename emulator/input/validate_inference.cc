#include "emulator/input/validate_inference.h"

#include <filesystem>
#include <utility>

namespace rankwire {
namespace {

/// A service with the places of its keys.
struct ServiceDescription {
  const GenerateConfig& model;
  const Tree& root;
  const std::string& prefix;

  const InferenceConfig& service() const { return model.inference; }
  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    fail_key(root, prefix + "inference." + key, format, std::forward<Args>(args)...);
  }
};

uint64_t ranks_of(const std::optional<ServingPoolConfig>& pool) {
  return pool ? uint64_t{pool->instances} * pool->tensor_parallel * pool->expert_parallel : 0;
}

void check_pool(const ServiceDescription& is, const std::string& name, const ServingPoolConfig& pool) {
  const AttentionConfig& attention = is.service().attention;
  const uint32_t shards = pool.tensor_parallel;
  const std::string key = name + ".tensor_parallel";
  if (attention.heads % shards != 0)
    is.fail(key, "attention.heads {} is not a multiple of {}", attention.heads, shards);
  if (attention.latent == 0 && attention.kv_heads % shards != 0 && shards % attention.kv_heads != 0) {
    is.fail(key, "{} and attention.kv_heads {}: one must be a multiple of the other, so that shards have whole heads",
            shards, attention.kv_heads);
  }
  const int64_t ffn = is.model.transformer.ffn == 0 ? 4 * is.model.transformer.hidden : is.model.transformer.ffn;
  if (ffn % shards != 0) is.fail(key, "ffn {} is not a multiple of {}", ffn, shards);
  if (is.model.transformer.expert_ffn % shards != 0)
    is.fail(key, "expert_ffn {} is not a multiple of {}", is.model.transformer.expert_ffn, shards);
  if (is.model.transformer.experts % pool.expert_parallel != 0)
    is.fail(name + ".expert_parallel", "experts {} is not a multiple of {}", is.model.transformer.experts,
            pool.expert_parallel);
  if (pool.max_tokens < pool.max_requests) {
    is.fail(name + ".max_tokens", "{} is below max_requests {}, each of which has a token in a batch", pool.max_tokens,
            pool.max_requests);
  }
}

void check_experts(const ServiceDescription& is) {
  const TransformerModel& model = is.model.transformer;
  const auto refuse_if = [&](bool wrong, const std::string& key, const std::string& text) {
    if (wrong) fail_key(is.root, is.prefix + key, "{}", text);
  };
  refuse_if(model.experts_per_token > model.experts, "experts_per_token",
            fmt::format("{} is above experts {}", model.experts_per_token, model.experts));
  refuse_if(model.dense_layers > model.layers, "dense_layers",
            fmt::format("{} is above layers {}", model.dense_layers, model.layers));
  if (model.experts == 1) {
    for (const auto& [used, key] :
         {std::pair(model.expert_ffn > 0, "expert_ffn"), std::pair(model.shared_experts > 0, "shared_experts"),
          std::pair(model.dense_layers > 0, "dense_layers"), std::pair(model.routing != RoutingModel(), "routing")})
      refuse_if(used, key, "needs 'experts' above 1");
  }
  if (const auto wrong = wrong_routing(model.routing)) refuse_if(true, "routing." + wrong->key, wrong->text);
  refuse_if(model.routing.capacity > 0, "routing.capacity", "is for training; a service drops no tokens");
  refuse_if(model.routing.node_limit > 0, "routing.node_limit", "is for training; a service has no such limit");
}

void check_pools(const ServiceDescription& is) {
  const InferenceConfig& service = is.service();
  if (service.mixed) {
    if (service.prefill || service.decode)
      is.fail("mixed", "contradicts inference.{}; give prefill and decode, or mixed alone",
              service.prefill ? "prefill" : "decode");
    return check_pool(is, "mixed", *service.mixed);
  }
  for (const auto& [name, pool] : {std::pair("prefill", &service.prefill), std::pair("decode", &service.decode)}) {
    if (!*pool) is.fail(name, "there is no such pool; give prefill and decode, or mixed for one that does both");
    check_pool(is, name, **pool);
  }
}

void check_tokens(const ServiceDescription& is, const std::string& name, const TokensConfig& tokens) {
  if (tokens.least > tokens.most) is.fail(name + ".min", "{} is above max {}", tokens.least, tokens.most);
  const bool has_mean = tokens.distribution != TokenSpread::kUniform;
  if (has_mean && (tokens.mean < tokens.least || tokens.mean > tokens.most))
    is.fail(name + ".mean", "{} is outside min {} .. max {}", tokens.mean, tokens.least, tokens.most);
  if (tokens.distribution != TokenSpread::kLognormal && tokens.cv != TokensConfig().cv)
    is.fail(name + ".cv", "is for 'distribution: lognormal'");
}

void check_arrivals(const ServiceDescription& is) {
  const ArrivalsConfig& arrivals = is.service().arrivals;
  if (arrivals.process != ArrivalName::kGamma && arrivals.cv != ArrivalsConfig().cv)
    is.fail("arrivals.cv", "is for 'process: gamma'");
  if (arrivals.process != ArrivalName::kCsv) {
    if (!arrivals.file.empty()) is.fail("arrivals.file", "is for 'process: csv' alone");
    check_tokens(is, "input", is.service().input);
    return check_tokens(is, "output", is.service().output);
  }
  if (arrivals.file.empty()) is.fail("arrivals.file", "is required for 'process: csv'");
  std::error_code unknown;
  if (std::filesystem::status(arrivals.file, unknown).type() == std::filesystem::file_type::not_found)
    is.fail("arrivals.file", "there is no file {}", arrivals.file);
  if (arrivals.rate != ArrivalsConfig().rate)
    is.fail("arrivals.rate", "is not for 'process: csv', whose file has the times");
  const InferenceConfig defaults;
  if (is.service().input != defaults.input) is.fail("input", "is not for 'process: csv', whose file has the tokens");
  if (is.service().output != defaults.output) is.fail("output", "is not for 'process: csv', whose file has the tokens");
}

}  // namespace

uint64_t served_ranks(const InferenceConfig& service) {
  return ranks_of(service.prefill) + ranks_of(service.decode) + ranks_of(service.mixed) + service.cache.ranks;
}

void validate_inference(const GenerateConfig& model, const Tree& root, const std::string& prefix) {
  const ServiceDescription is{model, root, prefix};
  const InferenceConfig& service = model.inference;
  const AttentionConfig& attention = service.attention;
  if (attention.latent == 0 && attention.heads % attention.kv_heads != 0)
    is.fail("attention.kv_heads", "heads {} is not a multiple of {}", attention.heads, attention.kv_heads);
  if (attention.latent == 0 && attention.query_latent > 0)
    is.fail("attention.query_latent", "is for attention with a latent alone; give attention.latent, too");
  check_experts(is);
  check_pools(is);
  check_arrivals(is);
  if (service.cache.hit_ppm > 0 && service.cache.ranks == 0)
    is.fail("cache.ranks", "requests hit a cache without ranks; it must be 1 or more");
  if (service.cache.bandwidth && service.cache.ranks == 0)
    is.fail("cache.bandwidth", "is of 'cache.ranks', of which there are none");
  if (service.cache.local_hit_ppm == 0 && service.cache.local_bandwidth != PrefixCacheConfig().local_bandwidth)
    is.fail("cache.local.bandwidth", "is for 'cache.local.hit' above 0");
  if (served_ranks(service) > 1 << 17) is.fail("prefill", "{} ranks, the most is 131072", served_ranks(service));
}

}  // namespace rankwire
