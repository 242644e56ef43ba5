// Where keys and values of a token are kept, and how large they are.
#pragma once

#include <cstdint>
#include <vector>

#include "converters/serving_model.h"

namespace rankwire {

/// What one shard has for another one: elements of a token and layer.
struct KvPart {
  uint32_t source = 0, destination = 0;  ///< shards
  int64_t elements = 0;

  bool operator==(const KvPart&) const = default;
};

/// Of one token and layer, of all heads: 2 kv_heads head_dim, or latent + rope.
int64_t kv_elements(const AttentionShape& attention);

/// The same of one of `shards` tensor-parallel shards: heads are divided; where there are more shards than heads each
/// has one, which shards / kv_heads of them share (as vLLM does). What is latent every shard has whole, since every
/// head needs it.
int64_t kv_elements_of_shard(const AttentionShape& attention, uint32_t shards);

/// Throws Error(kInput) unless heads are a multiple of the shards, and kv_heads are a multiple of them or divide them.
void check_shards(const AttentionShape& attention, uint32_t shards);

/// How each of `to` shards comes to what it has from `from` shards that have all of it together: each element once,
/// from one of those that have it, and not always from the first. By destination, then by source.
std::vector<KvPart> kv_parts(const AttentionShape& attention, uint32_t from, uint32_t to);

}  // namespace rankwire
