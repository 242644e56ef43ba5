// What a configuration says of the reference: docs/configuration.md, section Simulation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rankwire {

/// Whose model a reference is.
enum class SimulationFidelity : uint8_t {
  kFlow,       ///< the engine over shares of links
  kAlphaBeta,  ///< the engine over operations that take what a formula says
  kRecorded,   ///< and what the traces say
  kAstra,      ///< ASTRA-sim's semantics
  kTwin,       ///< the engine over packets in virtual time
};

inline constexpr std::array kSimulationFidelities = {SimulationFidelity::kFlow, SimulationFidelity::kAlphaBeta,
                                                     SimulationFidelity::kRecorded, SimulationFidelity::kAstra,
                                                     SimulationFidelity::kTwin};

/// Its name in `simulation.fidelity`, in records and reports.
constexpr const char* to_string(SimulationFidelity model) {
  switch (model) {
    case SimulationFidelity::kFlow:
      return "flow";
    case SimulationFidelity::kAlphaBeta:
      return "alpha_beta";
    case SimulationFidelity::kRecorded:
      return "recorded";
    case SimulationFidelity::kAstra:
      return "astra";
    case SimulationFidelity::kTwin:
      return "twin";
  }
  return "unknown";
}

/// The files and options of an ASTRA-sim command line.
struct AstraConfig {
  std::string network;  ///< YAML
  std::string system;   ///< JSON
  std::string memory;   ///< JSON; empty: no memory expansion
  bool congestion_aware = false;
  uint32_t queues = 1;  ///< per dimension
  bool rendezvous = false;
};

constexpr uint32_t kMostRunThreads = 64;

struct SimulationConfig {
  std::vector<SimulationFidelity> fidelity = {SimulationFidelity::kFlow};  ///< different; the first is the reference
  std::optional<uint32_t> threads;  ///< runs in virtual time at a time, 1 .. kMostRunThreads; absent: one for each core
  /// Runs of `flow` with small differences, 2 .. 1000, or 0: none. Absent: some, where `flow` is the reference and they
  /// are cheap.
  std::optional<uint32_t> ensemble;
  bool what_if = false;  ///< runs of `flow` in which one thing takes no time
  AstraConfig astra;

  bool has(SimulationFidelity one) const { return std::ranges::find(fidelity, one) != fidelity.end(); }
  bool is_astra() const { return has(SimulationFidelity::kAstra); }
  /// ASTRA-sim's semantics know no ports.
  bool needs_ports() const { return !is_astra() || fidelity.size() > 1; }
};

}  // namespace rankwire
