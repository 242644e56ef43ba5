// Paths of gNMI as texts (openconfig/reference, rpc/gnmi/gnmi-path-strings.md), and which counter is behind one.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankwire {

struct GnmiElement {
  std::string name;
  std::map<std::string, std::string> keys;

  bool operator==(const GnmiElement&) const = default;
};

struct GnmiPath {
  std::string origin;  ///< "openconfig" of "openconfig:/interfaces"; empty: none
  std::vector<GnmiElement> elements;
};

/// "/interfaces/interface[name=Ethernet0]/state/counters", with "\" before a "]", "/" or "\" that is meant. Throws
/// Error(kInput) saying what is wrong.
GnmiPath parse_gnmi_path(std::string_view text);

/// Port, queue and name of the counter behind a path, or behind a member of a JSON value whose names follow the path.
struct GnmiCounter {
  std::string port, queue, name;
};

/// The port is the key of the first element that has one, and the queue that of the last behind it; the name is that of
/// the elements behind the port, by "/", without prefixes "MODULE:". Without keys the port is the first element that is
/// one of `ports`, or one with ":N" or "|N" behind it, N being the queue; else that behind the first:
/// COUNTERS/Ethernet0/NAME of SONiC. Absent where there is no port, or nothing behind it.
std::optional<GnmiCounter> counter_of_path(std::span<const GnmiElement> path, std::span<const std::string> ports);

}  // namespace rankwire
