#include "dataplane/dpdk/huge_pages.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace rankwire {
namespace {

constexpr const char* kHugePages = "/sys/kernel/mm/hugepages";

struct FreeHugePages {
  int64_t size = 0, pages = 0;
};

/// Of each size of which there are some.
std::vector<FreeHugePages> free_huge_pages() {
  std::vector<FreeHugePages> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kHugePages, none)) {
    FreeHugePages free;
    int64_t kilobytes = 0;
    std::ifstream(entry.path() / "free_hugepages") >> free.pages;
    // hugepages-2048kB
    std::sscanf(entry.path().filename().c_str(), "hugepages-%ldkB", &kilobytes);
    free.size = kilobytes * 1024;
    if (free.size > 0 && free.pages > 0) all.push_back(free);
  }
  return all;
}

}  // namespace

bool can_have_huge_pages(Bytes memory) {
  std::vector<std::span<std::byte>> held;
  int64_t missing = memory.count;
  for (const FreeHugePages& free : free_huge_pages()) {
    const int64_t bytes = std::min(free.pages, (missing + free.size - 1) / free.size) * free.size;
    const int size = std::countr_zero(static_cast<uint64_t>(free.size)) << MAP_HUGE_SHIFT;
    if (bytes <= 0) break;
    void* const place = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size, -1, 0);
    if (place == MAP_FAILED) continue;
    held.emplace_back(static_cast<std::byte*>(place), static_cast<size_t>(bytes));
    missing -= bytes;
  }
  for (const std::span<std::byte> place : held) ::munmap(place.data(), place.size());
  return missing <= 0;
}

TurnAtHugePages::TurnAtHugePages() {
  if (free_huge_pages().empty()) return;
  folder_ = ::open(kHugePages, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TurnAtHugePages::~TurnAtHugePages() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace rankwire
