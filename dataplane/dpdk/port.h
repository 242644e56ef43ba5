// FramePort over DPDK: any ethdev, and links of two net_ring ports in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/steering.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// Received frames of a queue that may be held beside those in its descriptors.
constexpr uint32_t kReceivedFrames = 1023;

struct DpdkPortOptions {
  /// The largest IP packet in bytes that the port must carry, 68 .. 9600. A RoCEv2 packet is its payload and at most
  /// 64: IPv4 20, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4.
  uint32_t mtu = 4096 + 64;
  uint32_t descriptors = 1024;  ///< of the receive and the transmit queue, each; the device may adjust it
  uint32_t frames = 8191;       ///< frames in the pool of each queue; 2^n - 1 uses memory best
  uint16_t queues = 1;          ///< receive and transmit queues, each; 1 .. 16
  /// Which queue receives what. Empty: as the device spreads it.
  std::vector<SteeredAddress> steered;
  /// Stands for what is set at the open device later on: one that was kept is opened anew where it differs.
  uint32_t setting = 0;
  Duration link_deadline = seconds(9);  ///< how long the link may take to come up
};

/// Opens a device with `queues` receive and transmit queues, promiscuous, because emulated NICs have addresses of their
/// own, and with no offload but receive time stamps, where it has them. Returns a port for each pair of queues, each
/// for a thread of its own; the last one that goes closes the device. With several queues received frames are spread by
/// the device: over UDP ports and addresses (receive-side scaling) where it can, so that those of one flow stay
/// together; or by `steered`, with all others, such as broadcasts, in the first queue. `device` is a PCI address among
/// the environment's devices, or a vdev string such as "net_af_packet0,iface=veth0", which is created here and removed
/// with the port, unless the environment keeps devices; af_packet gets rings for frames of `mtu` unless the string sets
/// `framesz`, and `qpairs` for several queues. Setting the MTU of a device that has a kernel interface sets the
/// interface's.
///
/// Of the port: a borrowed payload is copied behind the head by `transmit`, so `length()` must not exceed
/// `frame_capacity` (at least 4352); `payload_pattern()` in frames that `send` takes stays in the buffers from one
/// packet to the next; `arrival` is the device's stamp where `hardware_time` says so,
/// once its clock is fitted to the run's (some milliseconds of `receive`), and the `now` of `receive` otherwise; a
/// stamp may be later than `now` by the time since that was read; a frame of one DPDK port may be transmitted on any
/// other; a received frame stands in `head` alone. Frames that arrive in several buffers are dropped.
/// `counters().rx_missed` counts them and, at the first queue's port, what the device reports as missed, in error or
/// without buffer.
///
/// Throws Error naming the device: kInput when it is absent, cannot carry `mtu`, has fewer queues or cannot steer, kRun
/// when it does not start or its link does not come up.
/// One that the environment has kept, and that nobody uses, is taken up again where it serves (kept_device.h), else
/// opened anew: the ports count from 0, and have nothing of what arrived in between.
std::vector<std::unique_ptr<FramePort>> open_dpdk_queues(DpdkEnvironment& environment, const std::string& device,
                                                         const DpdkPortOptions& options);
/// The port of the first pair of queues: all of them, when `options.queues` is 1.
std::unique_ptr<FramePort> open_dpdk_port(DpdkEnvironment& environment, const std::string& device,
                                          const DpdkPortOptions& options);

struct RingLinkOptions {
  uint32_t queue_frames = 4096;  ///< capacity of each direction, rounded up to a power of two
  uint32_t frames = 8191;        ///< size of the pool that both ends share
  /// One thread has both ends: a frame arrives when its sender last sent before it is taken, so that a turn of the loop
  /// between the two is no time on the line. Otherwise that might be before a time that the receiver has done with, and
  /// it arrives when it is taken.
  bool one_thread = true;
};

/// Two net_ring ports: what one end transmits the other receives. Each end may be used by a thread of its own. `name`
/// is at most `longest_ring_link_name` (demand.h) characters and unique; the ends' counters are called `name`.a and
/// `name`.b. `bell` rings after the first end has sent, `answer` after the second; `next_event` of an end is long_ago()
/// while frames wait for it. Throws Error(kRun) when the environment's memory does not suffice.
std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_ring_link(DpdkEnvironment& environment,
                                                                                 const std::string& name,
                                                                                 const RingLinkOptions& options,
                                                                                 Doorbell bell = {},
                                                                                 Doorbell answer = {});

}  // namespace rankwire
