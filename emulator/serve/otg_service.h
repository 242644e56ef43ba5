// The Open Traffic Generator API as functions of JSON, whatever it travels by.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/serve/kept_runs.h"
#include "emulator/serve/otg_config.h"
#include "emulator/serve/otg_metrics.h"
#include "emulator/serve/recent_looks.h"
#include "emulator/serve/run_configuration.h"
#include "emulator/serve/run_queue.h"

namespace rankwire {

/// Version of the model whose names these are.
inline constexpr const char* kOtgVersion = "1.61.0";

/// One configuration and the run that was started of it last, as the model has them; and any number of runs that were
/// submitted with a configuration of their own. All methods throw ServeError. Thread-safe.
class OtgService {
 public:
  /// `store` and `queue` outlive it; `devices` and `longest` as in ServeOptions.
  OtgService(KeptRuns& store, RunQueue& queue, std::vector<std::string> devices, std::chrono::seconds longest);

  /// By the names of the model's operations; what is returned are their answers.
  nlohmann::json set_config(const nlohmann::json& config);
  nlohmann::json get_config();
  /// What cannot be done leaves the configuration as it was.
  nlohmann::json update_config(const nlohmann::json& update);
  nlohmann::json append_config(const nlohmann::json& append);
  nlohmann::json delete_config(const nlohmann::json& removal);
  nlohmann::json set_control_state(const nlohmann::json& state);
  nlohmann::json get_metrics(const nlohmann::json& request);
  nlohmann::json get_states(const nlohmann::json& request);
  /// A file, in the format that the configuration says.
  std::string get_capture(const nlohmann::json& request);
  nlohmann::json get_version();

  /// Puts a run behind those that wait, and says how it is.
  nlohmann::json submit(const nlohmann::json& config);
  /// All that is known of a run.
  nlohmann::json describe(const std::string& id);
  nlohmann::json list();

 private:
  /// A configuration that can be run.
  struct Plan {
    OtgConfig config;
    std::string text;  ///< of rankwire
  };
  Plan plan(const nlohmann::json& config);
  nlohmann::json take(const nlohmann::json& config);
  /// Whether there is a configuration of flows that nothing runs of. Throws ServeError otherwise. The lock is held.
  const OtgConfig& changeable() const;
  /// These two end without the lock: a run may take long to begin and to end.
  nlohmann::json set_traffic(JsonReader& traffic, std::unique_lock<std::mutex>& lock);
  nlohmann::json set_protocol(JsonReader& protocol, std::unique_lock<std::mutex>& lock);
  nlohmann::json set_port(JsonReader& port);
  void start_capture(const std::string& port);
  void stop_capture(const std::string& port);
  const OtgPort& capturing_port(JsonReader& request, const char* field, const std::string& name) const;
  void start(std::unique_lock<std::mutex>& lock);
  void stop(std::unique_lock<std::mutex>& lock);
  /// Pauses the run, or lets one go on that was.
  void pause(bool paused);
  RunFigures figures();
  /// Of the run's collectives, once it has ended.
  nlohmann::json collectives();
  nlohmann::json describe(const RunStatus& status) const;
  /// Whether the run of the configuration has not ended. The lock is held.
  bool is_under_way() const;

  KeptRuns& store_;
  RunQueue& queue_;
  const std::vector<std::string> devices_;
  const std::chrono::seconds longest_;
  std::mutex mutex_;
  nlohmann::json given_ = nlohmann::json::object();  // the configuration as it came
  std::optional<Plan> plan_;
  std::string run_;                            // started of it last; empty: none
  std::optional<RunFigures> final_;            // of it
  std::optional<nlohmann::json> collectives_;  // of it, once they were asked for
  RecentLooks looks_;                          // at it
  /// Of a port, since its capture was started last; `from` and `to` are run times in picoseconds of the run.
  struct Capture {
    bool is_on = true;
    uint64_t from = 0, to = UINT64_MAX;
  };
  std::map<std::string, Capture> captures_;  // by port
  uint64_t capture_room_ = kCaptureMemory;   // bytes, of the run
};

}  // namespace rankwire
