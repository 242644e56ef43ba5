#include "dataplane/verbs/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr size_t kHugePage = 2 << 20;

}  // namespace

PinnedMemory::PinnedMemory(size_t bytes) {
  constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = ::mmap(nullptr, rounded, kProtection, kFlags | MAP_HUGETLB, -1, 0);
  huge_pages_ = memory != MAP_FAILED;
  if (!huge_pages_) memory = ::mmap(nullptr, rounded, kProtection, kFlags, -1, 0);
  if (memory == MAP_FAILED) fail_run("{} bytes of memory for messages: {}", rounded, std::strerror(errno));
  bytes_ = {static_cast<uint8_t*>(memory), rounded};
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), huge_pages_(other.huge_pages_) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(huge_pages_, other.huge_pages_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace rankwire
