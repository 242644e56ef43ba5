#include "emulator/bmwg/catalogue.h"

namespace rankwire {

std::vector<BmwgTest> bmwg_congestion_tests() {
  return {};
}

}  // namespace rankwire
