// The server's part of a latency test by RDMA WRITE (perftest src/perftest_resources.c, run_iter_lat_write): each end
// watches the last byte of its memory for the number of the turn, modulo 256, and then writes the same to the other.
// The server begins.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/message.h"
#include "base/units.h"

namespace rankwire {

struct PingPongOptions {
  Bytes message = Bytes(2);            ///< 1 .. 2^31 - 1; the first of them when there are several sizes
  Bytes largest_message = Bytes(2);    ///< every size is twice the one before it
  std::optional<uint32_t> iterations;  ///< turns of each size, >= 1; absent: until the client ends, in one size only
};

/// Which message is to be sent next. Its identity is chosen so that its payload in checking mode ends in the byte that
/// the client waits for.
class PingPong {
 public:
  /// Throws Error(kInput) for several sizes without a number of iterations.
  explicit PingPong(const PingPongOptions& options);

  struct Turn {
    Bytes bytes;
    MessageId id;
  };
  Turn begin();
  /// The client has written: the answer, or nothing after the last turn of the last size.
  std::optional<Turn> next();

 private:
  Turn turn() const;
  void find_ids();

  const PingPongOptions options_;
  Bytes bytes_;
  uint32_t turn_ = 1;
  std::array<MessageId, 256> ids_;  // by the last byte of a payload of `bytes_`
};

}  // namespace rankwire
