// What options and plans must keep to with every transport. All throw Error(kInput).
#pragma once

#include <cstdint>

#include "base/transport.h"
#include "dataplane/wire/payload.h"

namespace rankwire {

/// 256, 512, 1024, 2048 or 4096 bytes (IBTA 9.4.3).
void check_path_mtu(uint32_t bytes);
/// A message has at most 2^31 - 1 bytes, and a control message has room for its index and, in checking mode, its key.
/// `carrier` names what cannot carry more, as "RoCEv2" does.
void check_message_size(const Connection& connection, PayloadMode payload, const char* carrier);
/// Connection::reverse_of, where it is valid.
void check_reverse(const TransportPlan& plan, const Connection& connection);

}  // namespace rankwire
