#include "emulator/workload/id_index.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

std::vector<Node> with_ids(std::initializer_list<uint64_t> ids) {
  std::vector<Node> nodes;
  for (const uint64_t id : ids) nodes.emplace_back().id = id;
  return nodes;
}

// Ids below four times the number of nodes make a table, others a list.
TEST(IdIndex, FindsDenseAndSparseIds) {
  for (const uint64_t far : {uint64_t{11}, uint64_t{12}, UINT64_MAX}) {
    const IdIndex index(with_ids({far, 0, 5}));
    EXPECT_EQ(index.find(far), 0u);
    EXPECT_EQ(index.find(0), 1u);
    EXPECT_EQ(index.find(5), 2u);
    for (const uint64_t absent : {uint64_t{1}, uint64_t{6}, uint64_t{10}, uint64_t{13}, UINT64_MAX - 1}) {
      EXPECT_EQ(index.find(absent), IdIndex::kNone) << absent;
    }
    EXPECT_FALSE(index.repeated());
  }
  EXPECT_EQ(IdIndex({}).find(0), IdIndex::kNone);
}

TEST(IdIndex, ComputesWithIdsThatCountUp) {
  const IdIndex index(40, 3);
  EXPECT_EQ(index.find(40), 0u);
  EXPECT_EQ(index.find(42), 2u);
  for (const uint64_t absent : {uint64_t{0}, uint64_t{39}, uint64_t{43}, UINT64_MAX}) {
    EXPECT_EQ(index.find(absent), IdIndex::kNone) << absent;
  }
}

TEST(IdIndex, NamesTheFirstTwoNodesWithOneId) {
  for (const uint64_t far : {uint64_t{3}, uint64_t{1} << 40}) {
    const IdIndex index(with_ids({7, far, 7, far}));
    ASSERT_TRUE(index.repeated());
    EXPECT_EQ(index.find(7), 0u);
    EXPECT_EQ(*index.repeated(), (std::pair<uint32_t, uint32_t>{0, 2}));
  }
}

}  // namespace
}  // namespace rankwire
