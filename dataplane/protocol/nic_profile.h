// How particular NICs behave on the wire where the specification leaves them a choice: data, which the state machines
// take as limits and constants.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// The defaults are rankwire's own. Sources of the others: Linux drivers/infiniband/sw/rxe (rxe_param.h, rxe_req.c,
/// rxe_comp.c); Linux drivers/infiniband/hw/mlx5 (qp.c) and published measurements of a ConnectX-6.
struct NicProfile {
  std::string_view name = "rankwire";

  Migration migration = Migration::kMigrated;
  Ecn data_ecn = Ecn::kCapable0;
  uint8_t hop_limit = 64;               ///< of data and acknowledgements; IPv4: TTL
  uint8_t notification_hop_limit = 64;  ///< of CNPs

  uint32_t window = 64;               ///< packets, 1 .. 2^22
  uint32_t ack_every = 32;            ///< packets up to and with an AckReq, >= 1
  uint32_t max_reads = 16;            ///< READs outstanding as requester, 1 .. 128
  uint32_t max_responder_reads = 16;  ///< READs remembered as responder (max_dest_rd_atomic), 0 .. 128; 0: refused

  uint32_t timeout_exponent = 14;  ///< t of 4.096 us x 2^t, 0 .. 31; 0: no time-out
  uint32_t timeout_factor = 1;     ///< regular time-outs last this many times 4.096 us x 2^max(t, minimum_exponent)
  uint32_t minimum_exponent = 1;
  EarlyTimeouts early = {};       ///< those are used that together last no longer than one regular time-out
  uint32_t retry_count = 7;       ///< 0 .. 7
  uint32_t withheld_retries = 0;  ///< see ReliableOptions
  bool seven_retries_are_unlimited = false;
  uint32_t not_ready_retry_count = 7;  ///< rnr_retry, 0 .. 7; 7: unlimited (IBTA 9.7.5.2.8)
  uint8_t not_ready_code = 12;         ///< min_rnr_timer, 0 .. 31: 12 is 0.64 ms

  uint8_t requests_per_ack = 255;  ///< see ResponderOptions
  bool grants_credits = false;     ///< ACKs carry credits when receives are counted; otherwise never
};

/// "rankwire", "mlx5" or "rxe".
std::optional<NicProfile> find_nic_profile(std::string_view name);
/// For messages: the names above, separated by commas.
std::string_view nic_profile_names();

/// `mtu` in bytes: 256, 512, 1024, 2048 or 4096.
ReliableOptions reliable_options(const NicProfile& profile, uint32_t mtu);
ResponderOptions responder_options(const NicProfile& profile, uint32_t mtu);

}  // namespace rankwire
