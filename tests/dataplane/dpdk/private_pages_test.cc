#include "dataplane/dpdk/private_pages.h"

#include <rte_config.h>
#include <rte_memory.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/dataplane/dpdk/fixture.h"

namespace rankwire {
namespace {

using PrivatePages = testing::Dpdk;

/// The line of /proc/self/maps for the address.
std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 && begin <= wanted && wanted < end) return line;
  }
  return {};
}

// What EAL had written is still there: its heap works on, as all other tests show.
TEST_F(PrivatePages, StandWhereAFileInMemoryStood) {
  environment();
  std::vector<const void*> begins;
  ::rte_memseg_list_walk(
      [](const rte_memseg_list* list, void* all) {
        static_cast<std::vector<const void*>*>(all)->push_back(list->base_va);
        return 0;
      },
      &begins);
  ASSERT_FALSE(begins.empty());
  for (const void* begin : begins) {
    const std::string mapping = mapping_of(begin);
    EXPECT_NE(mapping.find("rw-p"), mapping.npos) << mapping;
    EXPECT_EQ(mapping.find("memfd"), mapping.npos) << mapping;
  }
}

}  // namespace
}  // namespace rankwire
