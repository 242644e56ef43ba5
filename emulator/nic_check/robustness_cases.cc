#include "emulator/nic_check/nic_case.h"

namespace rankwire {

NicCases robustness_cases() {
  return {};
}

}  // namespace rankwire
