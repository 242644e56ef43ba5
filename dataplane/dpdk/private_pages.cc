#include "dataplane/dpdk/private_pages.h"

#include <rte_memory.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/large_memory.h"

namespace rankwire {
namespace {

constexpr size_t kHugePage = 2 << 20;

using Area = std::span<std::byte>;

bool is_shared(const std::string& device) {
  return device.find("virtio_user") != device.npos || device.find("vhost") != device.npos;
}

int add_area(const rte_memseg_list* list, void* areas) {
  if (!list->external)
    static_cast<std::vector<Area>*>(areas)->emplace_back(static_cast<std::byte*>(list->base_va), list->len);
  return 0;
}

void unmap(std::byte* begin, std::byte* end) {
  if (begin < end) ::munmap(begin, static_cast<size_t>(end - begin));
}

/// Of the area what has been written, which are few of its pages.
void copy_resident(Area area, std::byte* copy) {
  constexpr size_t kPagesAtATime = 16384;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(kPagesAtATime);
  for (size_t part = 0; part < area.size(); part += kPagesAtATime * page) {
    const size_t bytes = std::min(kPagesAtATime * page, area.size() - part);
    const bool known = ::mincore(area.data() + part, bytes, resident.data()) == 0;
    for (size_t from = part, i = 0; from < part + bytes; from += page, ++i)
      if (!known || (resident[i] & 1) != 0)
        std::memcpy(copy + from, area.data() + from, std::min(page, area.size() - from));
  }
}

/// The new memory is made elsewhere, and as far from the border of a huge page as the area, so that there is no time
/// without any, and moved into its place.
void replace(Area area) {
  void* const room = ::mmap(nullptr, area.size() + kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return;
  auto* const begin = static_cast<std::byte*>(room);
  const auto offset = (reinterpret_cast<uintptr_t>(area.data()) - reinterpret_cast<uintptr_t>(room)) & (kHugePage - 1);
  std::byte* const copy = begin + offset;
  prefer_huge_pages(copy, area.size());
  copy_resident(area, copy);
  unmap(begin, copy);
  unmap(copy + area.size(), begin + area.size() + kHugePage);
  if (::mremap(copy, area.size(), area.size(), MREMAP_MAYMOVE | MREMAP_FIXED, area.data()) == MAP_FAILED)
    ::munmap(copy, area.size());
}

}  // namespace

void take_private_pages(const DpdkOptions& options) {
  if (std::ranges::any_of(options.devices, is_shared) || std::ranges::any_of(options.extra, is_shared)) return;
  std::vector<Area> areas;
  ::rte_memseg_list_walk(add_area, &areas);
  for (const Area area : areas) replace(area);
}

}  // namespace rankwire
