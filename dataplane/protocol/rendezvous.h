// The two control messages of a rendezvous get: the source says what is ready to be read, the destination reads it by
// RDMA READ and says that it has. The order is that of UCX's get protocol (UCX 1.16, ucp_rndv_rts_hdr_t and
// ucp_rndv_ats in src/ucp/rndv: ready-to-send, get, acknowledge-to-sender); the layout is our own.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "dataplane/wire/headers.h"

namespace rankwire {

/// Source to destination, by SEND: `length` bytes of message `index` stand at `address`.
struct ReadyToSend {
  Be32 index;
  Be32 cookie;  ///< names the message to its source
  Be64 address;
  Be32 rkey;
  Be32 length;
};
static_assert(sizeof(ReadyToSend) == 24 && alignof(ReadyToSend) == 1);

/// Destination to source, by SEND on the same queue pair: the bytes have arrived.
struct GetFinished {
  Be32 cookie;
};
static_assert(sizeof(GetFinished) == 4 && alignof(GetFinished) == 1);

/// The message that `payload` is, if its length is that of a `T`.
template <class T>
std::optional<T> control_message(std::span<const uint8_t> payload) noexcept {
  if (payload.size() != sizeof(T)) return std::nullopt;
  T message;
  std::memcpy(&message, payload.data(), sizeof message);
  return message;
}

}  // namespace rankwire
