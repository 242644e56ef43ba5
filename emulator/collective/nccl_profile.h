// What NCCL does to an operation before it reaches the network, as plain numbers. Names and defaults are those of NCCL
// 2.30.7 (github.com/NVIDIA/nccl); the file that holds each constant stands beside it.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rankwire {

enum class NcclProtocol : uint8_t {
  kAuto,    ///< the one that NCCL's tuning model expects to be fastest
  kLl,      ///< "low latency": 4 bytes of flag with 4 bytes of data (device.h, ncclLLFifoLine)
  kLl128,   ///< 8 bytes of flag with 120 bytes of data (device.h, NCCL_LL128_LINESIZE)
  kSimple,  ///< data only
};

/// A connection's buffer at the receiver is divided into NCCL_STEPS = 8 steps (device.h); a message fills one or two of
/// them. Each may be sent when the receiver has granted it with a clear-to-send message.
struct NcclProfile {
  static constexpr uint32_t kSteps = 8;

  uint32_t channels = 2;      ///< most rings of a collective, 1 .. 32; see `nccl_channels`
  uint32_t p2p_channels = 2;  ///< most connections of a pair for send and receive, a power of 2 up to 32
  NcclProtocol protocol = NcclProtocol::kAuto;  ///< of ring collectives (NCCL_PROTO)
  uint32_t steps_in_flight = kSteps;            ///< granted and not yet consumed, 1 .. 8
  bool clear_to_send = true;
  Bytes buffer = Bytes(4 << 20);       ///< of a channel in protocol Simple: init.cc, NCCL_BUFFSIZE; 64 KiB .. 1 GiB
  Bytes p2p_chunk = Bytes(128 << 10);  ///< init.cc, NCCL_P2P_NET_CHUNKSIZE; 4 KiB .. 1 GiB
  Bandwidth network = Bandwidth(400'000'000'000);  ///< of a rank's NIC, for the tuning model
};

/// The channels that NCCL gives a communicator with one NIC a GPU: it finds one ring, uses it twice, and twice again on
/// GPUs of compute capability 9 and above when the NIC has more than 45 GB/s (connect.cc, ncclTopoPostset).
uint32_t nccl_channels(Bandwidth nic);
/// One for every 14 GB/s of the NIC, rounded up to a power of 2 (paths.cc, NCCL_P2P_PER_CHANNEL_NET_BW).
uint32_t nccl_p2p_channels(Bandwidth nic);

/// Bytes of the message that carries `data`: LL sends lines of 16 bytes with 8 of data (prims_ll.h), LL128 sends 2048
/// bytes with 1920 of data, a warp's share (prims_ll128.h).
Bytes nccl_message_size(NcclProtocol protocol, Bytes data);

/// Throws Error(kInput) when a number is outside its range.
void validate(const NcclProfile& profile);

}  // namespace rankwire
