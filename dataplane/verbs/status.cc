// What completion statuses are called.
#include <array>

#include "dataplane/verbs/api.h"

namespace rankwire {
namespace {

struct StatusName {
  const char* text;
  std::string_view counter;
};

constexpr std::array<StatusName, kWorkStatuses> kStatusNames = {{
    {"success", "status_success"},
    {"local length error", "status_local_length"},
    {"local QP operation error", "status_local_qp_operation"},
    {"local EE context operation error", "status_local_ee_operation"},
    {"local protection error", "status_local_protection"},
    {"work request flushed", "status_flushed"},
    {"memory window bind error", "status_memory_window"},
    {"bad response error", "status_bad_response"},
    {"local access error", "status_local_access"},
    {"remote invalid request error", "status_remote_invalid_request"},
    {"remote access error", "status_remote_access"},
    {"remote operation error", "status_remote_operation"},
    {"transport retry counter exceeded", "status_retry_exceeded"},
    {"RNR retry counter exceeded", "status_rnr_retry_exceeded"},
    {"local RDD violation", "status_local_rdd"},
    {"remote invalid RD request", "status_remote_rd_request"},
    {"remote aborted error", "status_remote_aborted"},
    {"invalid EE context number", "status_ee_number"},
    {"invalid EE context state", "status_ee_state"},
    {"fatal error", "status_fatal"},
    {"response timeout error", "status_response_timeout"},
    {"general error", "status_general"},
}};

}  // namespace

const char* to_string(WorkStatus status) {
  return kStatusNames[static_cast<size_t>(status)].text;
}

std::string_view counter_name(WorkStatus status) {
  return kStatusNames[static_cast<size_t>(status)].counter;
}

Failure failure_of(WorkStatus status) {
  switch (status) {
    case WorkStatus::kSuccess:
      return Failure::kNone;
    case WorkStatus::kFlushed:
      return Failure::kFlushed;
    case WorkStatus::kRetryExceeded:
    case WorkStatus::kResponseTimeout:
      return Failure::kRetryExceeded;
    case WorkStatus::kNotReadyExceeded:
      return Failure::kNotReadyExceeded;
    case WorkStatus::kRemoteAccess:
      return Failure::kRemoteAccess;
    case WorkStatus::kRemoteOperation:
    case WorkStatus::kRemoteAborted:
      return Failure::kRemoteOperational;
    default:
      return Failure::kRemoteInvalid;
  }
}

}  // namespace rankwire
