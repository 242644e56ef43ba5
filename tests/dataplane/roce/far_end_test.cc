#include "dataplane/roce/far_end.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"

namespace rankwire {
namespace {

std::vector<PortBinding> two_bindings(FramePort& port) {
  return {{PortId(0), &port, Bandwidth(1)}, {PortId(1), &port, Bandwidth(1)}};
}

TEST(FarEnd, FollowsFromBellsAndWhatPortsCanSee) {
  FramePool of_one_thread(16, FramePool::kDefaultCapacity, PoolUse::kOneThread), of_many(16);
  const auto seen = make_memory_link(of_one_thread, 8, "seen"), unseen = make_memory_link(of_many, 8, "unseen");
  const Doorbells bells(2);
  EXPECT_EQ(far_end_of(nullptr, two_bindings(*seen.first)), FarEnd::kDevice);
  EXPECT_EQ(far_end_of(&bells, two_bindings(*seen.first)), FarEnd::kVirtual);
  EXPECT_EQ(far_end_of(&bells, two_bindings(*unseen.first)), FarEnd::kSwitch);
  std::vector<PortBinding> both = two_bindings(*seen.first);
  both[1].port = unseen.first.get();
  EXPECT_EQ(far_end_of(&bells, both), FarEnd::kSwitch);
}

}  // namespace
}  // namespace rankwire
