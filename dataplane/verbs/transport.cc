#include "dataplane/verbs/transport.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

constexpr uint32_t kPatternReceives = 64, kCheckedReceives = 3;

}  // namespace

VerbsTransport::VerbsTransport(const VerbsOptions& options, VerbsApi& api, std::vector<VerbsPort> ports)
    : options_(options),
      api_(api),
      ports_(std::move(ports)),
      receive_depth_(options.receive_queue.value_or(options.payload == PayloadMode::kChecking ? kCheckedReceives
                                                                                              : kPatternReceives)) {}

VerbsTransport::~VerbsTransport() {
  close();
}

size_t VerbsTransport::poll(Time now, std::span<Event> events) noexcept {
  if (!delivered_) return 0;
  last_now_ = now;
  look_at_devices();
  complete();
  look_for_control();
  post_receives();
  transmit();
  size_t reported = delivered_->pop(events);
  reported += report_ended(events.subspan(reported));
  reported_ += reported;
  return reported;
}

// Anything under way may end at any time.
Time VerbsTransport::next_event() const noexcept {
  const bool idle =
      messages_taken_ == 0 && sending_.empty() && (!delivered_ || delivered_->size() == 0) && !gets_.any_taken();
  return idle ? Time::never() : last_now_;
}

void VerbsTransport::close() noexcept {
  // Queue pairs go before what they use.
  for (VerbsEnd& end : ends_) {
    end.queue_pair.reset();
    end.state = VerbsEnd::State::kUnconnected;
  }
  for (ReceivePool& pool : receive_pools_) pool.queue = nullptr;
  devices_.clear();
}

}  // namespace rankwire
