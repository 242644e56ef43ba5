// Any bytes as a request of the Open Traffic Generator API: refused with a reason, or a configuration that can be run.
#include <string_view>

#include "emulator/serve/config_changes.h"
#include "emulator/serve/otg_metrics.h"
#include "emulator/serve/run_configuration.h"
#include "emulator/serve/serve_error.h"
#include "emulator/serve/serve_json.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  using fuzz::require;
  nlohmann::json request;
  try {
    request = parse_request({reinterpret_cast<const char*>(data), size});
  } catch (const ServeError& error) {
    require(error.status() == 400 && !error.errors().empty(), "it is the request that is wrong, and how is said");
    return 0;
  }
  RequestErrors errors, of_metrics, of_states;
  OtgConfig config = read_otg_config(request, errors);
  if (!errors.empty()) config = {};
  if (errors.empty() && !config.ai_workload) {
    for (const OtgFlow& flow : config.flows)
      require(flow.from < config.ports.size() && flow.to < config.ports.size(), "a flow joins ports that there are");
    const auto run = nlohmann::json::parse(run_configuration(config, std::chrono::seconds(1)));
    require(run["background"].size() == config.flows.size(), "each flow is run");
  }
  // Changes of a configuration with one flow; what they make of it may be wrong, and is then found to be.
  static const auto given = nlohmann::json::parse(
      R"({"stateful_flows": {"rocev2": [{"tx_ports": [{"port_name": "a", "transmit_type": {"target_line_rate":
          {"value": "20", "flows": [{"name": "flow"}]}}}]}]}})");
  OtgConfig known;
  known.ports = {{.name = "a"}, {.name = "b"}};
  known.flows = {{.name = "flow", .from = 0, .to = 1}};
  for (const nlohmann::json& changed :
       {updated_config(given, known, request, of_metrics), appended_config(given, request, of_metrics),
        reduced_config(given, request, of_metrics)})
    read_otg_config(changed, of_states);
  otg_metrics(request, config, {}, nullptr, of_metrics);
  otg_states(request, config, of_states);
  return 0;
}
