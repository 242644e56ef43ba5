#include "converters/kv_cache.h"

#include <algorithm>

#include "base/error.h"
#include "converters/model_sizes.h"

namespace rankwire {
namespace {

/// The first head that the shard has.
int64_t first_head(int64_t heads, uint32_t shards, uint32_t shard) {
  return heads * shard / shards;
}

int64_t heads_of_shard(int64_t heads, uint32_t shards) {
  return std::max<int64_t>(heads / shards, 1);
}

/// One of the shards that have the head: of several the one of the destination's turn.
uint32_t holder(int64_t heads, uint32_t shards, int64_t head, uint32_t destination) {
  const int64_t alike = std::max<int64_t>(shards / heads, 1);
  return static_cast<uint32_t>(head * shards / heads + destination % alike);
}

}  // namespace

int64_t kv_elements(const AttentionShape& attention) {
  return attention.latent > 0 ? size_sum({attention.latent, attention.rope})
                              : size_product({2, attention.kv_heads, attention.head_dim});
}

int64_t kv_elements_of_shard(const AttentionShape& attention, uint32_t shards) {
  if (attention.latent > 0) return kv_elements(attention);
  return size_product({2, heads_of_shard(attention.kv_heads, shards), attention.head_dim});
}

void check_shards(const AttentionShape& attention, uint32_t shards) {
  if (attention.heads % shards != 0)
    fail_input("inference: heads {} is not a multiple of tensor_parallel {}", attention.heads, shards);
  if (attention.latent > 0) return;
  if (attention.kv_heads % shards != 0 && shards % attention.kv_heads != 0) {
    fail_input("inference: kv_heads {} and tensor_parallel {}: one must be a multiple of the other", attention.kv_heads,
               shards);
  }
}

std::vector<KvPart> kv_parts(const AttentionShape& attention, uint32_t from, uint32_t to) {
  std::vector<KvPart> parts;
  for (uint32_t shard = 0; shard < to; ++shard) {
    if (attention.latent > 0) {
      parts.push_back({.source = shard % from, .destination = shard, .elements = kv_elements(attention)});
      continue;
    }
    const int64_t first = first_head(attention.kv_heads, to, shard);
    for (int64_t head = first; head < first + heads_of_shard(attention.kv_heads, to); ++head) {
      const uint32_t source = holder(attention.kv_heads, from, head, shard);
      if (parts.empty() || parts.back().destination != shard || parts.back().source != source)
        parts.push_back({.source = source, .destination = shard, .elements = 0});
      parts.back().elements = size_sum({parts.back().elements, size_product({2, attention.head_dim})});
    }
  }
  return parts;
}

}  // namespace rankwire
