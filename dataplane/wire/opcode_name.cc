#include "dataplane/wire/opcode_name.h"

namespace rankwire {

const char* to_string(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendFirst:
      return "SEND_FIRST";
    case Opcode::kSendMiddle:
      return "SEND_MIDDLE";
    case Opcode::kSendLast:
      return "SEND_LAST";
    case Opcode::kSendLastImmediate:
      return "SEND_LAST_IMMEDIATE";
    case Opcode::kSendOnly:
      return "SEND_ONLY";
    case Opcode::kSendOnlyImmediate:
      return "SEND_ONLY_IMMEDIATE";
    case Opcode::kWriteFirst:
      return "WRITE_FIRST";
    case Opcode::kWriteMiddle:
      return "WRITE_MIDDLE";
    case Opcode::kWriteLast:
      return "WRITE_LAST";
    case Opcode::kWriteLastImmediate:
      return "WRITE_LAST_IMMEDIATE";
    case Opcode::kWriteOnly:
      return "WRITE_ONLY";
    case Opcode::kWriteOnlyImmediate:
      return "WRITE_ONLY_IMMEDIATE";
    case Opcode::kReadRequest:
      return "READ_REQUEST";
    case Opcode::kReadResponseFirst:
      return "READ_RESPONSE_FIRST";
    case Opcode::kReadResponseMiddle:
      return "READ_RESPONSE_MIDDLE";
    case Opcode::kReadResponseLast:
      return "READ_RESPONSE_LAST";
    case Opcode::kReadResponseOnly:
      return "READ_RESPONSE_ONLY";
    case Opcode::kAcknowledge:
      return "ACKNOWLEDGE";
    case Opcode::kAtomicAcknowledge:
      return "ATOMIC_ACKNOWLEDGE";
    case Opcode::kCompareSwap:
      return "COMPARE_SWAP";
    case Opcode::kFetchAdd:
      return "FETCH_ADD";
    case Opcode::kSendLastInvalidate:
      return "SEND_LAST_INVALIDATE";
    case Opcode::kSendOnlyInvalidate:
      return "SEND_ONLY_INVALIDATE";
    case Opcode::kCongestionNotification:
      return "CNP";
  }
  return "UNKNOWN";
}

}  // namespace rankwire
