// How messages are carried by queue pairs, whatever the transport.
#pragma once

#include <cstdint>

namespace rankwire {

/// How a message is carried by a connection of several queue pairs. Control messages are always dealt.
enum class Spread : uint8_t {
  kSplit,  ///< every queue pair carries a part of ceil(ceil(bytes / n) / 128) x 128 bytes, the last ones less or none;
           ///< NCCL 2.30 with NCCL_IB_SPLIT_DATA_ON_QPS=1 (ncclIbMultiSend in src/transport/net_ib.cc)
  kDeal,   ///< message i travels whole on queue pair i mod n
};

/// By which operations data messages travel.
enum class DataVerb : uint8_t {
  kWriteImm,      ///< RDMA WRITE with immediate
  kWriteThenImm,  ///< RDMA WRITE, then an empty one with immediate, as NCCL does with adaptive routing
  kSendImm,       ///< SEND with immediate
  kRead,  ///< SEND that the data is ready, RDMA READ by the destination, SEND that it has them (see rendezvous.h)
  // For foreign peers only: nothing names the message to its destination.
  kWrite,  ///< RDMA WRITE alone
  kSend,   ///< SEND alone
};

}  // namespace rankwire
