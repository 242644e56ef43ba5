#include "dataplane/protocol/plan_checks.h"

#include <bit>

#include "base/error.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/queue_pair.h"

namespace rankwire {

void check_path_mtu(uint32_t bytes) {
  if (!std::has_single_bit(bytes) || bytes < 256 || bytes > kMaxMtu)
    fail_input("the path MTU is {} bytes; it must be 256, 512, 1024, 2048 or 4096", bytes);
}

void check_message_size(const Connection& connection, PayloadMode payload, const char* carrier) {
  const int64_t bytes = connection.largest_message.count;
  if (bytes > INT32_MAX)
    fail_input("connection {} has messages of {} bytes; {} carries at most {}", connection.id.value, bytes, carrier,
               INT32_MAX);
  if (!connection.control) return;
  // In checking mode the key stands behind the index.
  const int64_t least = payload == PayloadMode::kChecking ? kControlHeader + int64_t{sizeof(uint64_t)} : 4;
  if (bytes < least || bytes > int64_t{kMaxControlBytes})
    fail_input("connection {} has control messages of {} bytes; they must be of {} to {}", connection.id.value, bytes,
               least, kMaxControlBytes);
}

void check_reverse(const TransportPlan& plan, const Connection& connection) {
  if (!connection.reverse_of.valid()) return;
  const uint32_t other = connection.reverse_of.value;
  if (other >= plan.connections.size())
    fail_input("connection {} is the reverse of {}; the plan has {}", connection.id.value, other,
               plan.connections.size());
  const Connection& forward = plan.connections[other];
  if (forward.reverse_of.valid() || forward.source_nic != connection.destination_nic ||
      forward.destination_nic != connection.source_nic || forward.path != connection.path)
    fail_input("connection {} cannot be the reverse of {}", connection.id.value, other);
}

}  // namespace rankwire
