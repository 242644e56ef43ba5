// The sink's calls are on the hot path: they allocate nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace {

// Of this thread alone: the writer thread may allocate.
thread_local uint64_t allocations = 0;

}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(a, (size + a - 1) / a * a)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace rankwire {
namespace {

TEST(Allocation, PushingRowsAllocatesNothing) {
  testing::TemporaryFolder folder;
  RunRecorder recorder(folder.path(), {.messages = MessageDetail::kAll, .ring = 1024});
  std::vector<OperationRecord> operations(64, OperationRecord{.rank = RankId(0)});
  std::vector<MessageRecord> messages(64);
  for (const char* clock : {"real", "virtual"}) {
    RecordSink& sink = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = clock, .ranks = 1});
    const uint64_t before = allocations;
    // 64,000 rows through rings of 1,024: full rings are part of it.
    for (int batch = 0; batch < 1000; ++batch) {
      sink.operations(operations);
      sink.messages(messages);
    }
    EXPECT_EQ(allocations, before) << clock;
    recorder.end({});
  }
  EXPECT_GT(allocations, 0u) << "the counter works";
}

}  // namespace
}  // namespace rankwire
