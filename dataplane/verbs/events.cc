// What VerbsTransport does about what devices say by themselves, and about devices that cannot be spoken with any more.
#include <array>
#include <optional>
#include <utility>

#include "dataplane/verbs/transport.h"

namespace rankwire {
namespace {

/// Between two looks, which are a system call each: some milliseconds of a loop that is not busy.
constexpr uint64_t kPollsBetweenLooks = 16384;
/// Of a device at once: one that never falls silent must not keep the loop.
constexpr uint32_t kEventsALook = 64;

struct KindName {
  const char* text;
  std::string_view counter;
};

constexpr std::array<KindName, kDeviceEventKinds> kKindNames = {{
    {"a completion queue had an error (CQ_ERR)", "event_completion_queue_error"},
    {"the queue pair had a fatal error (QP_FATAL)", "event_queue_pair_fatal"},
    {"the peer sent an invalid request (QP_REQ_ERR)", "event_request_error"},
    {"the peer violated access rights (QP_ACCESS_ERR)", "event_access_error"},
    {"the connection was established (COMM_EST)", "event_established"},
    {"the send queue was drained (SQ_DRAINED)", "event_send_queue_drained"},
    {"the path was migrated (PATH_MIG)", "event_path_migrated"},
    {"the path could not be migrated (PATH_MIG_ERR)", "event_path_migration_error"},
    {"the device had a fatal error (DEVICE_FATAL)", "event_device_fatal"},
    {"the port became active (PORT_ACTIVE)", "event_port_active"},
    {"the port had an error (PORT_ERR)", "event_port_error"},
    {"the port's LID changed (LID_CHANGE)", "event_lid_change"},
    {"the port's P_Key table changed (PKEY_CHANGE)", "event_partition_key_change"},
    {"the port's subnet manager changed (SM_CHANGE)", "event_subnet_manager_change"},
    {"a shared receive queue had an error (SRQ_ERR)", "event_shared_receives_error"},
    {"a shared receive queue was at its limit (SRQ_LIMIT_REACHED)", "event_shared_receives_limit"},
    {"the queue pair took its last receive (QP_LAST_WQE_REACHED)", "event_last_receive"},
    {"the subnet manager asked to register again (CLIENT_REREGISTER)", "event_client_reregister"},
    {"the port's GID table changed (GID_CHANGE)", "event_gid_change"},
    {"a work queue had a fatal error (WQ_FATAL)", "event_work_queue_fatal"},
    {"something that this version does not know", "event_other"},
}};

}  // namespace

const char* to_string(DeviceEventKind kind) {
  return kKindNames[static_cast<size_t>(kind)].text;
}

std::string_view counter_name(DeviceEventKind kind) {
  return kKindNames[static_cast<size_t>(kind)].counter;
}

// Each READ under way may end with an event.
void VerbsTransport::look_at_devices() noexcept {
  if (details_.turns++ % kPollsBetweenLooks != 0 || delivered_->capacity() - delivered_->size() < gets_.size()) return;
  take_device_events();
}

void VerbsTransport::take_device_events() noexcept {
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    for (uint32_t n = 0; n < kEventsALook; ++n) {
      const std::optional<DeviceEvent> event = devices_[device].context->next_event();
      if (!event) break;
      on_device_event(device, *event);
    }
  }
}

void VerbsTransport::on_device_event(uint32_t device, const DeviceEvent& event) noexcept {
  ++events_[static_cast<size_t>(event.kind)];
  switch (event.kind) {
    case DeviceEventKind::kQueuePairFatal:
    case DeviceEventKind::kRequestError:
    case DeviceEventKind::kAccessError:
      return fail_by_device(device, event.subject, to_string(event.kind));
    case DeviceEventKind::kPortError:
      if (event.subject == ports_[device].place.port.number)
        fail_by_device(device, std::nullopt, to_string(event.kind));
      return;
    case DeviceEventKind::kDeviceFatal:
    case DeviceEventKind::kCompletionQueueError:
    case DeviceEventKind::kSharedReceivesError:
      return lose_device(device, to_string(event.kind));
    default:
      return;
  }
}

// Reasons first: a queue pair that fails takes others of its connection with it.
void VerbsTransport::fail_by_device(uint32_t device, std::optional<uint32_t> number, const char* reason) noexcept {
  for (VerbsEnd& end : ends_)
    if (end.device == device && end.state == VerbsEnd::State::kOpen && number.value_or(end.number) == end.number)
      end.device_error = reason;
  for (uint32_t end = 0; end < ends_.size(); ++end)
    if (ends_[end].state == VerbsEnd::State::kOpen && ends_[end].device_error != nullptr) fail_connection(end);
}

// Nothing that it says of work requests can be relied on, nor that it says anything.
void VerbsTransport::lose_device(uint32_t device, const char* reason) noexcept {
  if (std::exchange(devices_[device].lost, true)) return;
  fail_by_device(device, std::nullopt, reason);
  for (uint32_t end = 0; end < ends_.size(); ++end)
    if (ends_[end].device == device && ends_[end].state == VerbsEnd::State::kFailed) abandon(end);
}

// What is posted ends without completions, and those that come nevertheless are not heeded. The device may go on to use
// the memory of what it was given; nothing else uses the places of a queue pair that begins no more, and what another
// writes into the words of a request would be sent to a peer that no longer listens.
void VerbsTransport::abandon(uint32_t end) noexcept {
  VerbsEnd& owner = ends_[end];
  owner.state = VerbsEnd::State::kAbandoned;
  owner.receives_flushed = true;
  owner.head_work = 0;
  Failure failure = owner.status == WorkStatus::kSuccess ? owner.flushed() : failure_of(owner.status);
  for (RequestList* list : {&owner.posted, &owner.waiting})
    while (!list->empty()) finish(end, list->pop(requests_), std::exchange(failure, owner.flushed()));
  fail_offers(end);
}

}  // namespace rankwire
