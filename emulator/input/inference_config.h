// An inference service: the keys `workload.generate.inference`. See converters/serving_model.h for what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace rankwire {

struct AttentionConfig {
  int64_t heads = 32, kv_heads = 8, head_dim = 128;
  int64_t latent = 0;  ///< elements; 0: each of kv_heads has keys and values
  int64_t rope = 64;
  int64_t query_latent = 0;

  bool operator==(const AttentionConfig&) const = default;
};

struct ServingPoolConfig {
  uint32_t instances = 1, tensor_parallel = 2, expert_parallel = 1;
  int64_t max_tokens = 2048;
  uint32_t max_requests = 64;
  bool chunked = false;
  std::optional<Bytes> kv_memory;  ///< of a rank; none: enough for all

  bool operator==(const ServingPoolConfig&) const = default;
};

enum class TokenSpread : uint8_t { kFixed, kUniform, kExponential, kLognormal };

struct TokensConfig {
  TokenSpread distribution = TokenSpread::kFixed;
  int64_t mean = 512, least = 1, most = 1 << 20;  ///< keys `mean`, `min`, `max`
  double cv = 1;

  bool operator==(const TokensConfig&) const = default;
};

enum class ArrivalName : uint8_t { kPoisson, kGamma, kCsv };

struct ArrivalsConfig {
  ArrivalName process = ArrivalName::kPoisson;
  double rate = 10;  ///< requests a second
  double cv = 1;
  std::string file;  ///< absolute; of kCsv
  uint32_t requests = 16;
  std::optional<Duration> duration;
  uint64_t seed = 1;

  bool operator==(const ArrivalsConfig&) const = default;
};

struct PrefixCacheConfig {
  uint32_t ranks = 0;
  uint32_t hit_ppm = 0, prefix_ppm = 500'000;  ///< keys `hit`, `prefix`
  std::optional<Bandwidth> bandwidth;          ///< of a rank; none: at once
  uint32_t local_hit_ppm = 0;                  ///< keys `local.hit`, `local.bandwidth`
  Bandwidth local_bandwidth = Bandwidth(512'000'000'000);

  bool operator==(const PrefixCacheConfig&) const = default;
};

struct InferenceConfig {
  AttentionConfig attention;
  std::optional<ServingPoolConfig> prefill, decode, mixed;
  bool layerwise = false;  ///< key `kv_transfer`
  ArrivalsConfig arrivals;
  TokensConfig input, output = {.mean = 128};
  PrefixCacheConfig cache;
  Bandwidth memory_bandwidth = Bandwidth(16'000'000'000'000);
  Bandwidth network = Bandwidth(100'000'000'000);

  bool operator==(const InferenceConfig&) const = default;
};

}  // namespace rankwire
