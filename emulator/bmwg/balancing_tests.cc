#include "emulator/bmwg/catalogue.h"

namespace rankwire {

std::vector<BmwgTest> bmwg_balancing_tests() {
  return {};
}

}  // namespace rankwire
