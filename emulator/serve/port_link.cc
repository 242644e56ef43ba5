#include "emulator/serve/port_link.h"

#include <fstream>

#include "emulator/serve/run_configuration.h"

namespace rankwire {

std::optional<bool> is_link_up(const std::string& device, const std::filesystem::path& system) {
  const std::string name = named_device(device);
  if (name.empty()) return true;
  if (name.find('/') != std::string::npos || name.starts_with('.')) return std::nullopt;
  const std::filesystem::path interface = system / "class" / "net" / name;
  // Attributes of the kernel's ABI (sysfs-class-net): one that is administratively down has a carrier that cannot be
  // read, and one that cannot tell its state has the operstate "unknown".
  std::string text;
  if (std::ifstream(interface / "carrier") >> text) return text == "1";
  if (!(std::ifstream(interface / "operstate") >> text) || (text != "up" && text != "down")) return std::nullopt;
  return text == "up";
}

}  // namespace rankwire
