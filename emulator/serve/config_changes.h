// Changes of a configuration of the Open Traffic Generator API: the configuration that comes of them.
#pragma once

#include <nlohmann/json.hpp>

#include "emulator/serve/json_reader.h"
#include "emulator/serve/otg_config.h"

namespace rankwire {

/// Of `given`, which can be run and is no `ai_workload`, as `config` has it. What a request says that is not served
/// goes into `errors`, and what is returned then means nothing. Whether it can be run is another question.
/// `update_config`: rates of flows.
nlohmann::json updated_config(const nlohmann::json& given, const OtgConfig& config, const nlohmann::json& request,
                              RequestErrors& errors);
/// `append_config`: further flows.
nlohmann::json appended_config(const nlohmann::json& given, const nlohmann::json& request, RequestErrors& errors);
/// `delete_config`: flows by name.
nlohmann::json reduced_config(const nlohmann::json& given, const nlohmann::json& request, RequestErrors& errors);

}  // namespace rankwire
