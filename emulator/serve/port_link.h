// Whether the link of a port is up, as the system knows it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace rankwire {

/// Of a port of the embedded switch, which is always up, or of one whose device, as ports[].device, names a network
/// interface of this system: whether that has carrier now. Absent where nothing is known. `system`: where sysfs is.
std::optional<bool> is_link_up(const std::string& device, const std::filesystem::path& system = "/sys");

}  // namespace rankwire
