// The options of rankwire's end of an interoperation test.
#pragma once

#include <cstdint>
#include <istream>
#include <vector>

#include "base/transport.h"
#include "dataplane/roce/transport.h"

namespace rankwire::testing {

enum class Role { kTarget, kInitiator };

/// How rankwire's end of a connection is to be.
struct PeerOptions {
  Role role = Role::kTarget;
  Nic ours, theirs;
  std::vector<int64_t> sizes;  // of a message, by connection
  uint32_t depth = 1;          // messages of a connection in flight
  uint32_t loss_ppm = 0;
  uint64_t seed = 1;
  RoceOptions roce;
};

/// Words KEY=VALUE to the end of the stream. Throws Error(kInput) for others. Payloads are checked, messages of foreign
/// peers that name no index are reported, next hops are resolved.
PeerOptions read_peer_options(std::istream& words);

}  // namespace rankwire::testing
