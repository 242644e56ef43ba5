#include "base/error.h"
#include "emulator/gnmi/gnmi_client.h"

namespace rankwire {

void subscribe_gnmi(const GnmiOptions&) {
  fail_run("this rankwire was built without gRPC (package libgrpc++-dev), by which it would ask the device");
}

}  // namespace rankwire
