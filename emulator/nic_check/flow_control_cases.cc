#include "emulator/nic_check/nic_case.h"

namespace rankwire {

NicCases flow_control_cases() {
  return {};
}

}  // namespace rankwire
