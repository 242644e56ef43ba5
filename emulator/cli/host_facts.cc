#include "emulator/cli/host_facts.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <fstream>
#include <iterator>

namespace rankwire {

std::string processor_name(std::string_view cpuinfo) {
  constexpr std::string_view kKey = "model name";
  const size_t key = cpuinfo.find(kKey);
  const size_t colon = cpuinfo.find(": ", key);
  if (key == cpuinfo.npos || colon == cpuinfo.npos) return {};
  const std::string_view rest = cpuinfo.substr(colon + 2);
  return std::string(rest.substr(0, rest.find('\n')));
}

std::map<std::string, std::string> host_facts() {
  std::map<std::string, std::string> facts = {{"rankwire", RANKWIRE_VERSION}};
  utsname system;
  if (::uname(&system) == 0) facts["kernel"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  std::ifstream file("/proc/cpuinfo");
  const std::string name = processor_name(std::string(std::istreambuf_iterator<char>(file), {}));
  cpu_set_t allowed;
  const int count = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  if (count > 0) facts["processors"] = name.empty() ? fmt::to_string(count) : fmt::format("{} x {}", count, name);
  return facts;
}

}  // namespace rankwire
