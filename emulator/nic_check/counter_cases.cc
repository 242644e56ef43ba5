#include "emulator/nic_check/nic_case.h"

namespace rankwire {

NicCases counter_cases() {
  return {};
}

}  // namespace rankwire
