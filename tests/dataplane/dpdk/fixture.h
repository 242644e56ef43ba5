// What tests of DPDK ports share: one environment, because DPDK starts once in a process.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/port.h"

namespace rankwire::testing {

inline DpdkOptions small_environment() {
  DpdkOptions options;
  options.memory = Bytes(512 << 20);
  options.extra = {"--no-huge"};
  return options;
}

class Dpdk : public ::testing::Test {
 protected:
  static DpdkEnvironment& environment() {
    static DpdkEnvironment shared(small_environment());
    return shared;
  }

  static RingLinkOptions small_link() { return {.queue_frames = 64, .frames = 255}; }

  static std::string error_of(const std::string& device, const DpdkPortOptions& options = {}) {
    try {
      open_dpdk_queues(environment(), device, options);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
};

/// A frame of `length` bytes with `number` at byte 20.
inline Frame filled(FramePort& port, uint32_t number, uint16_t length) {
  std::array<Frame, 1> frame;
  EXPECT_EQ(port.allocate(frame), 1u);
  std::memset(frame[0].head, static_cast<int>(number), length);
  std::memcpy(frame[0].head + 20, &number, sizeof number);
  frame[0].head_length = length;
  return frame[0];
}

inline uint32_t number_of(const Frame& frame) {
  uint32_t number;
  std::memcpy(&number, frame.head + 20, sizeof number);
  return number;
}

/// Moves the calling thread, and the processes that it starts, to a network namespace of its own with a veth pair, rwv0
/// and rwv1. The namespace begins with nothing but a loopback interface, so no interface of the machine is in reach,
/// and it goes with its last user. Returns whether it succeeded, which needs root and iproute2.
inline bool enter_namespace_with_veth_pair() {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  return std::system(
             "(ip link add rwv0 mtu 1500 type veth peer name rwv1 mtu 9000 && ip link set rwv0 up && "
             "ip link set rwv1 up) >/dev/null 2>&1") == 0;
}

}  // namespace rankwire::testing
