// Figures of a run as rows of the Open Traffic Generator API.
#pragma once

#include <nlohmann/json.hpp>

#include "emulator/serve/otg_config.h"
#include "emulator/serve/run_figures.h"

namespace rankwire {

/// An answer to a request for metrics, `get_metrics` in the model: `choice` and rows. `before`: an earlier look at the
/// same run, for rates; null: none. What the request says that is not served goes into `errors`.
nlohmann::json otg_metrics(const nlohmann::json& request, const OtgConfig& config, const RunFigures& now,
                           const RunFigures* before, RequestErrors& errors);
/// `get_states`.
nlohmann::json otg_states(const nlohmann::json& request, const OtgConfig& config, RequestErrors& errors);

}  // namespace rankwire
