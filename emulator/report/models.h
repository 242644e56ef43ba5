// What several models predicted of one run, side by side.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// A run, and how long its communication took by kind ("all_reduce", "send", ...).
struct ModelResult {
  struct Kind {
    uint64_t count = 0;
    Duration mean;
  };

  std::string name;  ///< a model's, "reference" where the record does not say; "emulated"
  std::string verdict, reason;
  std::optional<Duration> completion;  ///< absent without an end
  std::optional<double> ratio;         ///< emulated over this one, of runs that are ok; absent of the emulated itself
  std::map<std::string, Kind> kinds;   ///< receives left out: they wait for their senders
};

/// The emulated side, if any, then the models in the order in which they ran.
std::vector<ModelResult> read_models(const RunReader& record);

/// `summary.json`'s `models`: of each model `model`, `verdict`, `reason`, `completion_time_ps` and `ratio`.
nlohmann::ordered_json models_json(const RunReader& record);
/// A line of the printed summary, "alpha_beta 5.5 s (ratio 1.067), ..." of all models; empty where there is only one.
std::string models_text(const RunReader& record);
/// The table of `report.html`; empty where there is only one model.
std::string html_models(const RunReader& record);

}  // namespace rankwire
