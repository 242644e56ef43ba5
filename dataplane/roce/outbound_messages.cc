#include "dataplane/roce/outbound_messages.h"

#include "base/error.h"

namespace rankwire {

MessageRoom::MessageRoom(const RoceOptions& options, uint32_t messages_in_flight) : messages(messages_in_flight) {
  const bool split = options.queue_pairs > 1 && options.spread == Spread::kSplit;
  const bool read = options.verb == DataVerb::kRead;
  const bool two = options.verb == DataVerb::kWriteThenImm;
  const uint64_t parts = uint64_t{messages} * (split ? options.queue_pairs : 1);
  // A part that has been fetched may not have been settled yet when the peer offers the next.
  const uint64_t all = read ? 4 * parts : two ? 2 * parts : parts;
  if (all > RequestContext::kMaxSubject)
    fail_input("{} messages in flight are {} requests; at most {} are possible", messages, all,
               RequestContext::kMaxSubject);
  requests = static_cast<uint32_t>(all);
  transfers = split || read || two ? messages : 0;
  offers = read ? static_cast<uint32_t>(parts) : 0;
  gets = read ? static_cast<uint32_t>(2 * parts) : 0;
  assembled = split ? messages : 0;
}

}  // namespace rankwire
