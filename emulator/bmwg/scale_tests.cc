#include "emulator/bmwg/catalogue.h"

namespace rankwire {

std::vector<BmwgTest> bmwg_scale_tests() {
  return {};
}

}  // namespace rankwire
