#include "emulator/report/activity.h"

namespace rankwire {

Activity activity_of(std::string_view kind) {
  return kind == "compute" || kind == "host" || kind == "memory" ? Activity::kCompute : Activity::kCommunication;
}

}  // namespace rankwire
