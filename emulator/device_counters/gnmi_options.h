// What the program rankwire-gnmi is told: one argument, these in JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rankwire {

struct GnmiOptions {
  std::string target;                     ///< HOST:PORT
  std::vector<std::string> paths;         ///< as parse_gnmi_path reads them
  std::string path_target;                ///< Path.target of what is asked; empty: none
  std::string mode = "sample";            ///< or "on_change", "target_defined"
  std::string encoding = "json_ietf";     ///< or "json", "proto"
  uint64_t interval_ns = 1'000'000'000;   ///< of samples
  uint64_t patience_ns = 10'000'000'000;  ///< with the device until it answers at all
  bool tls = true;
  std::string ca, certificate, key, server_name, username, password_file;  ///< as of GnmiConfig
  std::vector<std::string> ports;  ///< what ports of the device are called, where paths have no keys
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GnmiOptions, target, paths, path_target, mode, encoding, interval_ns, patience_ns,
                                   tls, ca, certificate, key, server_name, username, password_file, ports)

}  // namespace rankwire
