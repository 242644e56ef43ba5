#include "converters/kv_cache.h"

#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

int64_t sum_of(const std::vector<KvPart>& parts) {
  int64_t sum = 0;
  for (const KvPart& part : parts) sum += part.elements;
  return sum;
}

// Llama 3 8B: 32 heads of 128, 8 of them with keys and values (arXiv:2407.21783, table 3): 2 x 8 x 128 elements a
// layer, and 128 KiB a token in 32 layers of 2 bytes. With multi-head attention it would be four times that.
TEST(KvCache, HeadsHaveKeysAndValues) {
  const AttentionShape grouped{.heads = 32, .kv_heads = 8, .head_dim = 128};
  EXPECT_EQ(kv_elements(grouped) * 32 * 2, 128 << 10);
  EXPECT_EQ(kv_elements({.heads = 32, .kv_heads = 32, .head_dim = 128}), 4 * kv_elements(grouped));
  EXPECT_EQ(kv_elements_of_shard(grouped, 4), 2 * 2 * 128);
  EXPECT_EQ(kv_elements_of_shard(grouped, 16), 2 * 128);  // one head, which two shards have
}

// DeepSeek-V2 and V3: 512 + 64 elements a layer, of which every shard has all.
TEST(KvCache, ALatentIsOneForAllHeads) {
  const AttentionShape latent{.heads = 128, .kv_heads = 128, .head_dim = 128, .latent = 512, .rope = 64};
  EXPECT_EQ(kv_elements(latent), 576);
  EXPECT_EQ(kv_elements_of_shard(latent, 8), 576);
  EXPECT_THAT(kv_parts(latent, 2, 3), ElementsAre(KvPart{0, 0, 576}, KvPart{1, 1, 576}, KvPart{0, 2, 576}));
}

TEST(KvCache, ShardsGetTheirHeads) {
  const AttentionShape four{.heads = 8, .kv_heads = 4, .head_dim = 8};
  EXPECT_THAT(kv_parts(four, 2, 4),
              ElementsAre(KvPart{0, 0, 16}, KvPart{0, 1, 16}, KvPart{1, 2, 16}, KvPart{1, 3, 16}));
  EXPECT_THAT(kv_parts(four, 4, 2),
              ElementsAre(KvPart{0, 0, 16}, KvPart{1, 0, 16}, KvPart{2, 1, 16}, KvPart{3, 1, 16}));
  EXPECT_THAT(kv_parts(four, 1, 2), ElementsAre(KvPart{0, 0, 32}, KvPart{0, 1, 32}));
}

// Eight shards have each of four heads twice: the two that have it serve different shards.
TEST(KvCache, CopiesOfAHeadTakeTurns) {
  const AttentionShape four{.heads = 8, .kv_heads = 4, .head_dim = 8};
  EXPECT_THAT(kv_parts(four, 8, 2),
              ElementsAre(KvPart{0, 0, 16}, KvPart{2, 0, 16}, KvPart{5, 1, 16}, KvPart{7, 1, 16}));
  const auto same = kv_parts(four, 8, 8);
  for (uint32_t shard = 0; shard < 8; ++shard) EXPECT_EQ(same[shard], (KvPart{shard, shard, 16}));
}

TEST(KvCache, EachShardGetsAllThatItHas) {
  const AttentionShape eight{.heads = 16, .kv_heads = 8, .head_dim = 4};
  for (const uint32_t from : {1u, 2u, 8u, 16u})
    for (const uint32_t to : {1u, 4u, 8u, 16u})
      EXPECT_EQ(sum_of(kv_parts(eight, from, to)), to * kv_elements_of_shard(eight, to)) << from << " to " << to;
}

TEST(KvCache, RefusesPartsOfHeads) {
  const AttentionShape six{.heads = 12, .kv_heads = 6, .head_dim = 8};
  check_shards(six, 3);
  check_shards(six, 12);
  expect_refused("kv_heads 6 and tensor_parallel 4: one must be a multiple of the other",
                 [&] { check_shards(six, 4); });
  expect_refused("heads 12 is not a multiple of tensor_parallel 5", [&] { check_shards(six, 5); });
}

}  // namespace
}  // namespace rankwire
