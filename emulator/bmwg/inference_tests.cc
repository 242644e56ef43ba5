#include "emulator/bmwg/catalogue.h"

namespace rankwire {

std::vector<BmwgTest> bmwg_inference_tests() {
  return {};
}

}  // namespace rankwire
