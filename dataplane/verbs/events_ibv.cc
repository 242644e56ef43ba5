#include "dataplane/verbs/events_ibv.h"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

static_assert(IBV_EVENT_DEVICE_FATAL == static_cast<int>(DeviceEventKind::kDeviceFatal));
static_assert(IBV_EVENT_PORT_ERR == static_cast<int>(DeviceEventKind::kPortError));
static_assert(IBV_EVENT_GID_CHANGE == static_cast<int>(DeviceEventKind::kGidChange));
static_assert(IBV_EVENT_WQ_FATAL == static_cast<int>(DeviceEventKind::kWorkQueueFatal));

constexpr DeviceEventKind kind_of(ibv_event_type type) {
  return type < static_cast<int>(DeviceEventKind::kOther) ? static_cast<DeviceEventKind>(type)
                                                          : DeviceEventKind::kOther;
}

uint32_t subject_of(const ibv_async_event& event) noexcept {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp->qp_num;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
      return static_cast<uint32_t>(event.element.port_num);
    default:
      return 0;
  }
}

}  // namespace

void make_events_nonblocking(const ibv_context& context, const std::string& device) {
  const int flags = ::fcntl(context.async_fd, F_GETFL);
  if (flags < 0 || ::fcntl(context.async_fd, F_SETFL, flags | O_NONBLOCK) != 0)
    fail_run("{}: its events cannot be read without waiting: {}", device, std::strerror(errno));
}

std::optional<DeviceEvent> next_device_event(ibv_context& context) noexcept {
  ibv_async_event event{};
  if (ibv_get_async_event(&context, &event) != 0) return std::nullopt;
  const DeviceEvent told{kind_of(event.event_type), subject_of(event)};
  ibv_ack_async_event(&event);
  return told;
}

}  // namespace rankwire
