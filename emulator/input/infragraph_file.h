// What an InfraGraph file says, as written: the Infrastructure of its OpenAPI model 2.4.0
// (github.com/Keysight/infragraph, artifacts/openapi.yaml). docs/infragraph.md has the facts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/input/tree.h"

namespace rankwire {

struct InfraLink {
  std::string name;
  std::optional<Bandwidth> rate;  ///< gigabits (10^9) or gigabytes (8 x 10^9) a second; transfers say nothing of bits
  std::optional<Duration> latency;
};

struct InfraComponent {
  std::string name;
  uint32_t count = 0;
  std::string type;        ///< `choice`, or what `custom` says
  bool is_device = false;  ///< the device of this name, again
};

/// `scheme`.
enum class InfraScheme : uint8_t { kNone, kOneToOne, kManyToMany };

struct InfraEnd {
  std::string instance;   ///< with a slice; of an edge of the infrastructure
  std::string component;  ///< with slices: "cx5[0:2].port[0]"
};

struct InfraEdge {
  InfraEnd ep1, ep2;
  InfraScheme scheme = InfraScheme::kNone;
  std::string link;
  Origin origin;
};

struct InfraDevice {
  std::string name;
  std::vector<InfraComponent> components;
  std::vector<InfraLink> links;
  std::vector<InfraEdge> edges;
  Origin origin;
};

struct InfraInstance {
  std::string name, device;
  uint32_t count = 0;
  Origin origin;
};

struct Infrastructure {
  std::vector<InfraDevice> devices;
  std::vector<InfraLink> links;
  std::vector<InfraInstance> instances;
  std::vector<InfraEdge> edges;
  Origin origin;
};

/// Reads YAML or JSON: an Infrastructure, or a map with one as `infrastructure` and perhaps `annotations`, which are
/// not looked at. Throws Error(kInput) naming file, line and key.
Infrastructure read_infrastructure(const std::filesystem::path& file);

}  // namespace rankwire
