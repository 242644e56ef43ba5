#include "base/message.h"

#include <fmt/format.h>

namespace rankwire {

std::string to_string(const MessageId& id) {
  const uint64_t group = id.group, sequence = id.sequence, iteration = id.iteration, job = id.job, channel = id.channel,
                 source = id.source, destination = id.destination, step = id.step, slice = id.slice;
  if (group == MessageId::kPointToPoint) {
    return fmt::format("job {} point-to-point tag#{} #{} iteration {} rank {} -> {} channel {} slice {}", job, step,
                       sequence, iteration, source, destination, channel, slice);
  }
  return fmt::format("job {} group {} #{} iteration {} rank {} -> {} step {} channel {} slice {}", job, group, sequence,
                     iteration, source, destination, step, channel, slice);
}

}  // namespace rankwire
