#include "emulator/engine/team.h"

namespace rankwire {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kStalled:
      return "stalled";
    case Verdict::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

}  // namespace rankwire
