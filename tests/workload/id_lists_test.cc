#include "emulator/workload/id_lists.h"

#include <gmock/gmock.h>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> ids_of(const IdLists& lists, size_t node) {
  std::vector<uint64_t> ids;
  lists.each(node, [&](uint64_t id) { ids.push_back(id); });
  return ids;
}

TEST(IdLists, AreThoseOfTheirNodes) {
  IdLists lists;
  lists.add_node({3, 1});
  lists.reserve(10);
  lists.add_node({});
  lists.add_node({UINT32_MAX});
  EXPECT_THAT(ids_of(lists, 0), ElementsAre(3, 1));
  EXPECT_THAT(ids_of(lists, 1), IsEmpty());
  EXPECT_THAT(ids_of(lists, 2), ElementsAre(UINT32_MAX));
  EXPECT_EQ(lists.size(), 3u);
}

// What does not fit into 32 bits changes nothing of what has been added before.
TEST(IdLists, HoldAnyId) {
  IdLists lists;
  lists.add_node({3, 1});
  lists.add_node({7, uint64_t{1} << 32});
  lists.add_node({2});
  EXPECT_THAT(ids_of(lists, 0), ElementsAre(3, 1));
  EXPECT_THAT(ids_of(lists, 1), ElementsAre(7, uint64_t{1} << 32));
  EXPECT_THAT(ids_of(lists, 2), ElementsAre(2));
  EXPECT_EQ(lists.size(), 5u);
  IdLists wide_from_the_first;
  wide_from_the_first.add_node({UINT64_MAX});
  EXPECT_THAT(ids_of(wide_from_the_first, 0), ElementsAre(UINT64_MAX));
  EXPECT_TRUE(IdLists().empty());
}

}  // namespace
}  // namespace rankwire
