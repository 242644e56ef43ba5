// What is run of a configuration, with the room that what is kept leaves for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/serve/kept_runs.h"
#include "emulator/serve/otg_config.h"
#include "emulator/serve/run_configuration.h"

namespace rankwire {

struct RunOrder {
  std::string text;  ///< the configuration, YAML
  std::vector<OtgFile> files;
  uint64_t capture = kCaptureMemory;  ///< bytes for what its ports capture, where one does
  uint64_t room = 0;                  ///< as KeptRuns::new_run has it
};

/// `text`: the same configuration with room for whatever is captured; `longest` as run_configuration has it. Throws
/// ServeError 507 where ports capture and `store` has no room for that.
RunOrder order_run(const OtgConfig& config, const std::string& text, const KeptRuns& store,
                   std::chrono::seconds longest);

}  // namespace rankwire
