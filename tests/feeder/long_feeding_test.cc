// A hundred million nodes, as `long` test: some minutes, and 2 GB of disk.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "feeder/trace_feeder.h"
#include "proto/trace_stream.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

// Blocks of 100,000 nodes of which the first waits for the last and all others for the one before: every block is in
// memory as a whole before any of it is ready.
TEST(LongFeeding, AHundredMillionNodesTakeNoMoreThan256MiB) {
  constexpr uint64_t kNodes = 100'000'000, kReach = 100'000;
  const testing::TemporaryFolder folder;
  const std::string path = folder / "w.0.et";
  {
    TraceWriter writer(path);
    chakra::Node node;
    node.set_type(chakra::COMP_NODE);
    for (uint64_t id = 0; id < kNodes; ++id) {
      node.set_id(id);
      node.clear_data_deps();
      const uint64_t place = id % kReach;
      if (place == 0) {
        node.add_data_deps(id + kReach - 1);
      } else if (place < kReach - 1) {
        node.add_data_deps(id - 1);
      }
      writer.write(node);
    }
    writer.close();
  }
  TraceFeeder feeder(path, {.memory = size_t{256} << 20});
  uint64_t fed = 0;
  for (auto node = feeder.next(); node != TraceFeeder::kNone; node = feeder.next()) {
    const uint64_t block = fed / kReach * kReach, place = fed % kReach;
    ASSERT_EQ(feeder.lookup(node).id, place == 0 ? block + kReach - 1 : block + place - 1);
    feeder.complete(node);
    ++fed;
  }
  EXPECT_EQ(fed, kNodes);
  EXPECT_TRUE(feeder.finished());
  EXPECT_EQ(feeder.most_live(), kReach);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LE(usage.ru_maxrss, 256 * 1024) << "KiB; the feeder says " << feeder.memory() << " bytes";
  RecordProperty("feeder_bytes", std::to_string(feeder.memory()));
}

}  // namespace
}  // namespace rankwire
