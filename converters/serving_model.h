// What is served, by whom and for whom: the description of an inference service from which traces are generated.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "converters/expert_routing.h"
#include "converters/request_stream.h"

namespace rankwire {

/// How attention keeps what it has seen. With `latent` 0 each of `kv_heads` keeps a key and a value of `head_dim`
/// elements (multi-head attention where kv_heads = heads, multi-query where it is 1, between them grouped-query:
/// Ainslie et al., EMNLP 2023). Otherwise a token's keys and values are one vector of `latent` elements and a key of
/// `rope` elements with the position, which all heads share (multi-head latent attention; DeepSeek-V2,
/// arXiv:2405.04434, section 2.1).
struct AttentionShape {
  int64_t heads = 32;  ///< a multiple of every pool's tensor_parallel
  int64_t kv_heads = 8;
  int64_t head_dim = 128;
  int64_t latent = 0;        ///< d_c
  int64_t rope = 64;         ///< d_h^R; of no account without `latent`
  int64_t query_latent = 0;  ///< d_c' of the queries; 0: they have none

  bool operator==(const AttentionShape&) const = default;
};

/// Instances that are alike. Each has tensor_parallel x expert_parallel ranks and one batch at a time.
struct ServingPool {
  uint32_t instances = 1;
  uint32_t tensor_parallel = 2;
  uint32_t expert_parallel = 1;  ///< replicas of the attention, over which tokens and experts are divided evenly
  int64_t max_tokens = 2048;     ///< of a batch
  uint32_t max_requests = 64;    ///< at work at once
  bool chunked = false;          ///< prompts are cut to what is left of max_tokens
  Bytes kv_memory;               ///< that a rank has for keys and values; 0: enough for all

  bool operator==(const ServingPool&) const = default;
};

/// When the keys and values of a prompt go to the instance that decodes.
enum class KvTransfer : uint8_t {
  kWhole,   ///< in one message a pair of ranks, once the prompt is computed
  kLayers,  ///< layer by layer, and chunk by chunk, as they are computed
};

struct ServingModel {
  uint32_t layers = 4;
  int64_t hidden = 1024;
  int64_t vocabulary = 32000;  ///< padded up to a multiple of tensor_parallel
  int64_t ffn = 0;             ///< width of the MLP, a multiple of tensor_parallel; 0: 4 h
  bool gated = false;
  uint32_t experts = 1;  ///< of a layer, a multiple of expert_parallel; 1: no router
  uint32_t experts_per_token = 1;
  int64_t expert_ffn = 0;       ///< width of an expert, a multiple of tensor_parallel; 0: as `ffn`
  uint32_t shared_experts = 0;  ///< of a layer with experts, through which every token goes
  uint32_t dense_layers = 0;    ///< the first ones, which have no experts
  RoutingModel routing;         ///< how tokens choose, drift counting batches; without capacity and node_limit
  Bytes element = Bytes(2);     ///< of parameters, activations, keys and values
  AttentionShape attention;

  std::optional<ServingPool> prefill, decode;  ///< both, or
  std::optional<ServingPool> mixed;            ///< one pool that does both
  KvTransfer kv_transfer = KvTransfer::kWhole;
  RequestModel requests;
  uint32_t cache_ranks = 0;                  ///< that keep prefixes of prompts; > 0 where requests may hit
  std::optional<Bandwidth> cache_bandwidth;  ///< at which each reads them, one after the other; absent: at once
  Bandwidth local_cache_bandwidth = Bandwidth(512'000'000'000);  ///< from the memory of a rank's host

  int64_t peak_flops = 100'000'000'000'000;                    ///< flop/s of a rank
  Bandwidth memory_bandwidth = Bandwidth(16'000'000'000'000);  ///< of a rank's memory
  Bandwidth network = Bandwidth(100'000'000'000);              ///< of a rank, for estimates of batches alone

  bool has_experts(uint32_t layer) const { return experts > 1 && layer >= dense_layers; }
  int64_t mlp_width() const { return ffn > 0 ? ffn : 4 * hidden; }
  int64_t expert_width() const { return expert_ffn > 0 ? expert_ffn : mlp_width(); }
};

}  // namespace rankwire
