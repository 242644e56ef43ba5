#include "base/event.h"

namespace rankwire {

const char* to_string(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return "none";
    case Failure::kRetryExceeded:
      return "retry count exceeded";
    case Failure::kNotReadyExceeded:
      return "receiver not ready (RNR) retry count exceeded";
    case Failure::kUnreachable:
      return "next hop unreachable";
    case Failure::kRemoteInvalid:
      return "remote invalid request";
    case Failure::kRemoteAccess:
      return "remote access error";
    case Failure::kRemoteOperational:
      return "remote operational error";
    case Failure::kFlushed:
      return "flushed";
    case Failure::kDevice:
      return "device error";
  }
  return "unknown";
}

}  // namespace rankwire
