// What this machine is, for reports.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rankwire {

/// The name of the processors that a /proc/cpuinfo tells of; empty: none is there, as on Arm.
std::string processor_name(std::string_view cpuinfo);

/// `kernel` and `processors` ("8 x NAME", those that this process may use) of this machine, and `rankwire`, the
/// version.
std::map<std::string, std::string> host_facts();

}  // namespace rankwire
