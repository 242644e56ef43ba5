// The keys of `workload.generate.inference`; see schema.h.
#pragma once

#include <string>

#include "emulator/input/decimal.h"
#include "emulator/input/inference_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

template <class Visitor>
void describe_serving_pool(Visitor& visit, ServingPoolConfig& pool) {
  visit.field("instances", pool.instances, Integer<uint32_t>{1, 4'096});
  visit.field("tensor_parallel", pool.tensor_parallel, Integer<uint32_t>{1, 1'024});
  visit.field("expert_parallel", pool.expert_parallel, Integer<uint32_t>{1, 4'096});
  visit.field("max_tokens", pool.max_tokens, Integer<int64_t>{1, 1 << 24});
  visit.field("max_requests", pool.max_requests, Integer<uint32_t>{1, 65'536});
  visit.field("chunked", pool.chunked, on_or_off());
  visit.field("kv_memory", pool.kv_memory, Or{"none", Size{Bytes(1), Bytes(int64_t{1} << 44)}});
}

template <class Visitor>
void describe_tokens(Visitor& visit, TokensConfig& tokens) {
  const Integer<int64_t> count{1, 1 << 24};
  visit.field("distribution", tokens.distribution,
              Choice<TokenSpread>{{{"fixed", TokenSpread::kFixed},
                                   {"uniform", TokenSpread::kUniform},
                                   {"exponential", TokenSpread::kExponential},
                                   {"lognormal", TokenSpread::kLognormal}}});
  visit.field("mean", tokens.mean, count);
  visit.field("min", tokens.least, count);
  visit.field("max", tokens.most, count);
  visit.field("cv", tokens.cv, Decimal{0.001, 100});
}

template <class Visitor>
void describe_arrivals(Visitor& visit, ArrivalsConfig& arrivals) {
  visit.field("process", arrivals.process,
              Choice<ArrivalName>{
                  {{"poisson", ArrivalName::kPoisson}, {"gamma", ArrivalName::kGamma}, {"csv", ArrivalName::kCsv}}});
  visit.field("rate", arrivals.rate, Decimal{1e-6, 1e6});
  visit.field("cv", arrivals.cv, Decimal{0.01, 100});
  visit.field("file", arrivals.file, FilePathOrNone{});
  visit.field("requests", arrivals.requests, Integer<uint32_t>{1, 50'000});
  visit.field("duration", arrivals.duration, Or{"none", Interval{microseconds(1), seconds(1'000'000)}});
  visit.field("seed", arrivals.seed, Integer<uint64_t>{});
}

template <class Visitor>
void describe_inference(Visitor& visit, InferenceConfig& model) {
  const Integer<int64_t> dimension{1, 1 << 24}, dimension_or_none{0, 1 << 24};
  visit.section("attention", [&](auto& keys) {
    keys.field("heads", model.attention.heads, dimension);
    keys.field("kv_heads", model.attention.kv_heads, dimension);
    keys.field("head_dim", model.attention.head_dim, dimension);
    keys.field("latent", model.attention.latent, dimension_or_none);
    keys.field("rope", model.attention.rope, dimension_or_none);
    keys.field("query_latent", model.attention.query_latent, dimension_or_none);
  });
  const auto pool = [](auto& keys, ServingPoolConfig& instances) { describe_serving_pool(keys, instances); };
  visit.optional_section("prefill", model.prefill, pool);
  visit.optional_section("decode", model.decode, pool);
  visit.optional_section("mixed", model.mixed, pool);
  visit.field("kv_transfer", model.layerwise, Choice<bool>{{{"whole", false}, {"layers", true}}});
  visit.section("arrivals", [&](auto& keys) { describe_arrivals(keys, model.arrivals); });
  visit.section("input", [&](auto& keys) { describe_tokens(keys, model.input); });
  visit.section("output", [&](auto& keys) { describe_tokens(keys, model.output); });
  visit.section("cache", [&](auto& keys) {
    keys.field("ranks", model.cache.ranks, Integer<uint32_t>{0, 65'536});
    keys.field("hit", model.cache.hit_ppm, Share{});
    keys.field("prefix", model.cache.prefix_ppm, Share{});
    keys.field("bandwidth", model.cache.bandwidth, Or{"none", Rate{}});
    keys.section("local", [&](auto& local) {
      local.field("hit", model.cache.local_hit_ppm, Share{});
      local.field("bandwidth", model.cache.local_bandwidth, Rate{});
    });
  });
  visit.field("memory_bandwidth", model.memory_bandwidth, Rate{});
  visit.field("network", model.network, Rate{});
}

}  // namespace rankwire
