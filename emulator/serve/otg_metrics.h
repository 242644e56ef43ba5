// Figures of a run as rows of the Open Traffic Generator API.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulator/serve/otg_config.h"

namespace rankwire {

/// What ports have sent and received so far.
struct PortFigures {
  uint64_t frames_tx = 0, frames_rx = 0, bytes_tx = 0, bytes_rx = 0;
};
/// Of a flow whose run has ended: its columns of `rocev2_flow` that are known, but names.
using FlowFigures = nlohmann::json;
/// From the last packet of a message given to its port until it has arrived, in nanoseconds.
struct LatencyFigures {
  uint64_t least = 0, mean = 0, most = 0;
};

struct RunFigures {
  bool is_transmitting = false;
  bool is_paused = false;                           ///< it goes on without posting anything
  double seconds = 0;                               ///< of the run, from when `ports` are
  std::map<std::string, PortFigures> ports;         ///< by name; empty before it has begun
  std::map<std::string, FlowFigures> flows;         ///< by name; empty before it has ended
  std::map<size_t, LatencyFigures> latencies = {};  ///< of messages to a port, by its place; empty before it has ended
  nlohmann::json jobs = nlohmann::json::array();
  std::set<std::string> capturing = {};  ///< names of ports
};

/// Of a run that goes on, from what its page is told.
RunFigures live_figures(const nlohmann::json& state);
/// Of a run that has ended, from its folder of results.
RunFigures final_figures(const std::filesystem::path& results);

/// An answer to a request for metrics, `get_metrics` in the model: `choice` and rows. `before`: an earlier look at the
/// same run, for rates; null: none. What the request says that is not served goes into `errors`.
nlohmann::json otg_metrics(const nlohmann::json& request, const OtgConfig& config, const RunFigures& now,
                           const RunFigures* before, RequestErrors& errors);
/// `get_states`.
nlohmann::json otg_states(const nlohmann::json& request, const OtgConfig& config, RequestErrors& errors);

}  // namespace rankwire
