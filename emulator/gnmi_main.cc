// rankwire-gnmi: reads counters of a device by gNMI for `rankwire run`, a program of its own since it alone needs gRPC.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "emulator/device_counters/gnmi_options.h"
#include "emulator/gnmi/gnmi_client.h"

int main(int argc, char** argv) {
  rankwire::configure_log(rankwire::Verbosity::kNormal);
  if (argc != 2) {
    rankwire::log_error("this is a part of 'rankwire run', which says how it is used: device_counters[].gnmi");
    return 2;
  }
  try {
    rankwire::subscribe_gnmi(nlohmann::json::parse(argv[1]).get<rankwire::GnmiOptions>());
  } catch (const std::exception& error) {
    rankwire::log_error(error.what());
    std::fflush(nullptr);
    // A call that hangs would be waited for.
    std::_Exit(1);
  }
  std::_Exit(0);
}
