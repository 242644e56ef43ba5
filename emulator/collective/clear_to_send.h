// NCCL's flow control: a message leaves when its receiver has granted it.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/collective/schedule.h"

namespace rankwire {

/// Size of a clear-to-send: one entry of the FIFO that the receiver writes into the sender's memory by RDMA WRITE
/// (NCCL 2.30.7, transport/net_ib/common.h).
inline constexpr Bytes kClearToSendBytes(64);

/// The schedule with a clear-to-send before every message but those of `local` members (by position; empty: none is).
/// At the receiver of a connection's k-th message this is a send with the same `step`, `channel` and `slice`; at its
/// sender it is a receive that the message waits for.
///
/// The connection's buffer holds `messages_in_flight` messages. The first that many are granted when the operation
/// starts; message k when message k - messages_in_flight has left its place: when it has been received and reduced,
/// and, if it is passed on, a place is free in the sending connection's buffer, that is, when the message
/// `messages_in_flight` before the passed-on one has been acknowledged (device/prims_simple.h, transport/net.cc).
///
/// Nothing deadlocks when a member may send at most `messages_in_flight` messages of a connection before it receives:
/// then each message waits only for such with lower numbers on their connections.
Schedule with_clear_to_send(const Schedule& schedule, uint32_t messages_in_flight, const std::vector<bool>& local);

}  // namespace rankwire
