// What a configuration says of the reference: docs/configuration.md, section Simulation.
#pragma once

#include <cstdint>
#include <string>

namespace rankwire {

/// Whose model the reference is.
enum class SimulationFidelity : uint8_t {
  kFlow,   ///< the engine over shares of links
  kAstra,  ///< ASTRA-sim's semantics
};

/// The files and options of an ASTRA-sim command line.
struct AstraConfig {
  std::string network;  ///< YAML
  std::string system;   ///< JSON
  std::string memory;   ///< JSON; empty: no memory expansion
  bool congestion_aware = false;
  uint32_t queues = 1;  ///< per dimension
  bool rendezvous = false;
};

struct SimulationConfig {
  SimulationFidelity fidelity = SimulationFidelity::kFlow;
  AstraConfig astra;

  bool is_astra() const { return fidelity == SimulationFidelity::kAstra; }
};

}  // namespace rankwire
