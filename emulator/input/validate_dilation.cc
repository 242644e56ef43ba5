#include "emulator/input/validate_dilation.h"

namespace rankwire {

void validate_dilation(const RunConfig& config, const Tree& root) {
  const DilationConfig& dilation = config.dilation;
  const bool names_device = dilation.device != DilatedDeviceConfig();
  if (dilation.factor == 1) {
    if (names_device) fail_key(root, "dilation.device", "needs a 'factor' above 1; time is not stretched");
    return;
  }
  for (const PortConfig& port : config.ports)
    if (port.is_rdma_device())
      fail_key(root, "dilation.factor",
               "port '{}' is an RDMA device, whose clocks cannot be stretched: take a DPDK port, or leave it at 1",
               port.name);
  if (names_device && config.ports.front().embedded())
    fail_key(root, "dilation.device", "needs a device; the embedded switch is stretched with all else");
}

}  // namespace rankwire
