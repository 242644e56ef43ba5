// What is known of a run, as the Open Traffic Generator API asks for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

namespace rankwire {

/// What ports have sent and received so far.
struct PortFigures {
  uint64_t frames_tx = 0, frames_rx = 0, bytes_tx = 0, bytes_rx = 0;
};
/// Columns of a flow in `rocev2_flow` that are known, but names: few while its run goes on.
using FlowFigures = nlohmann::json;
/// From the last packet of a message given to its port until it has arrived, in nanoseconds.
struct LatencyFigures {
  uint64_t least = 0, mean = 0, most = 0;
};

struct RunFigures {
  bool has_begun = false;  ///< a run was started: what is not in `ports` is then not known, and nothing was sent before
  bool is_transmitting = false;
  bool is_paused = false;                           ///< it goes on without posting anything
  double seconds = 0;                               ///< of the run, from when `ports` are
  std::map<std::string, PortFigures> ports;         ///< by name; empty before it has begun, and after it was killed
  std::map<std::string, FlowFigures> flows;         ///< by name; empty before it has begun
  std::map<size_t, LatencyFigures> latencies = {};  ///< of messages to a port, by its place; empty before it has ended
  nlohmann::json jobs = nlohmann::json::array();
  nlohmann::json collectives = nlohmann::json::array();
  std::set<std::string> capturing = {};  ///< names of ports
};

/// Of a run that goes on, from what its page is told.
RunFigures live_figures(const nlohmann::json& state);
/// Of a run that has ended, from its folder of results.
RunFigures final_figures(const std::filesystem::path& results);
/// The same of its collectives, which takes a look at each operation: a row for each job, kind, group and size. Absent
/// where there are too many operations to look at while a client waits.
std::optional<nlohmann::json> collective_figures(const std::filesystem::path& results);

}  // namespace rankwire
