#include "base/message.h"

#include <fmt/format.h>

namespace rankwire {

std::string to_string(const MessageId& id) {
  const uint64_t group = id.group, sequence = id.sequence, iteration = id.iteration, job = id.job, channel = id.channel,
                 source = id.source, destination = id.destination, step = id.step, slice = id.slice;
  const char* const control = id.control ? " clear-to-send" : "";
  if (group == MessageId::kPointToPoint) {
    return fmt::format("job {} point-to-point tag#{} #{} iteration {} rank {} -> {} channel {} slice {}{}", job, step,
                       sequence, iteration, source, destination, channel, slice, control);
  }
  return fmt::format("job {} group {} #{} iteration {} rank {} -> {} step {} channel {} slice {}{}", job, group,
                     sequence, iteration, source, destination, step, channel, slice, control);
}

}  // namespace rankwire
