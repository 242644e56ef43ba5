#include "dataplane/dpdk/vdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An IP packet of 4160 and 82 around it need 4242 bytes: the least capacity, 4352 = 17 x 256, of which 16 fill whole
// pages: 69632 = 17 x 4096.
TEST(VirtualDevice, PacketSocketsGetRingsForLargeFrames) {
  EXPECT_EQ(vdev_string("net_af_packet0,iface=v0", 4160, 1),
            "net_af_packet0,iface=v0,framesz=4352,blocksz=69632,framecnt=1024");
  EXPECT_EQ(vdev_string("net_af_packet0,iface=v0", 4160, 4),
            "net_af_packet0,iface=v0,framesz=4352,blocksz=69632,framecnt=1024,qpairs=4");
}

TEST(VirtualDevice, WhatTheUserSaysIsKept) {
  EXPECT_EQ(vdev_string("net_af_packet0,iface=v0,framecnt=512", 4160, 1),
            "net_af_packet0,iface=v0,framecnt=512,framesz=4352,blocksz=69632");
  EXPECT_EQ(vdev_string("net_af_packet0,iface=v0,blocksz=139264", 4160, 1),
            "net_af_packet0,iface=v0,blocksz=139264,framesz=4352,framecnt=1024");
  // lcm(6144, 4096) = 12288.
  EXPECT_EQ(vdev_string("net_af_packet0,iface=v0,framesz=6144,qpairs=8", 4160, 4),
            "net_af_packet0,iface=v0,framesz=6144,qpairs=8,blocksz=12288,framecnt=1024");
  const std::string whole = "net_af_packet0,iface=v0,framesz=8192,blocksz=8192,framecnt=64";
  EXPECT_EQ(vdev_string(whole, 4160, 1), whole);
}

TEST(VirtualDevice, OthersStayAsTheyAre) {
  EXPECT_EQ(vdev_string("net_null0", 4160, 4), "net_null0");
  EXPECT_EQ(vdev_string("net_pcap0,iface=v0", 4160, 1), "net_pcap0,iface=v0");
}

// 1024 frames of 4352 bytes to receive and as many to send: 8912896 bytes a queue.
TEST(VirtualDevice, PacketSocketsLockBothRingsOfEveryQueue) {
  const std::string one = vdev_string("net_af_packet0,iface=v0", 4160, 1);
  EXPECT_EQ(packet_socket_memory(one), Bytes(8'912'896));
  EXPECT_EQ(packet_socket_memory(vdev_string("net_af_packet0,iface=v0", 4160, 3)), Bytes(3 * 8'912'896));
}

/// Lowers what the process may lock while it lives.
class LockedMemoryLimit {
 public:
  explicit LockedMemoryLimit(Bytes bytes) {
    ::getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit lowered{static_cast<rlim_t>(bytes.count), before_.rlim_max};
    ::setrlimit(RLIMIT_MEMLOCK, &lowered);
  }
  ~LockedMemoryLimit() { ::setrlimit(RLIMIT_MEMLOCK, &before_); }

 private:
  rlimit before_;
};

TEST(VirtualDevice, AdviceFitsTheCause) {
  const std::string device = vdev_string("net_af_packet0,iface=v0", 4160, 1);
  const std::string log = "call to mmap failed on AF_PACKET socket";
  const LockedMemoryLimit limit(Bytes(64 << 10));
  EXPECT_THAT(packet_socket_advice(device, log),
              AllOf(HasSubstr("lock 8704 KiB"), HasSubstr("RLIMIT_MEMLOCK allows 64"), HasSubstr("ulimit -l")));
  EXPECT_THAT(packet_socket_advice(device, "could not open socket"), HasSubstr("CAP_NET_RAW"));
  // 8 frames of 4096 each way are 64 KiB.
  EXPECT_THAT(packet_socket_advice("net_af_packet0,iface=v0,framesz=4096,blocksz=4096,framecnt=8", log),
              HasSubstr("CAP_NET_RAW"));
  EXPECT_THAT(packet_socket_advice("net_null0", log), IsEmpty());
}

std::string check_error(const std::string& device) {
  try {
    check_packet_socket(device, 1500);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return {};
}

// The loopback interface of Linux carries 65536 bytes.
TEST(VirtualDevice, RingsAreWholeBlocksOfWholeFrames) {
  EXPECT_THAT(check_error("net_af_packet0,iface=lo,framesz=2048,blocksz=4096,framecnt=8"), IsEmpty());
  EXPECT_THAT(check_error("net_af_packet0,iface=lo,framesz=2048,blocksz=6144,framecnt=9"), HasSubstr("such as 4096"));
  EXPECT_THAT(check_error("net_af_packet0,iface=lo,framesz=2304,blocksz=4096,framecnt=8"), HasSubstr("such as 36864"));
  EXPECT_THAT(check_error("net_af_packet0,iface=lo,framesz=2048,blocksz=4096,framecnt=9"),
              HasSubstr("a multiple of the 2 frames of a block"));
  // 1500 and 80 around it.
  EXPECT_THAT(check_error("net_af_packet0,iface=lo,framesz=1024,blocksz=4096,framecnt=8"), HasSubstr("framesz=1580"));
}

}  // namespace
}  // namespace rankwire
