// `rankwire convert`: other descriptions of AI jobs to Chakra traces, and back.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "converters/layers.h"
#include "converters/missing_ranks.h"
#include "converters/storage_model.h"
#include "emulator/cli/commands.h"

namespace rankwire {

/// Options of all kinds of input.
struct ConvertRequest {
  std::vector<std::string> inputs;
  std::string out;
  OutputForm form = OutputForm::kTable;
  LayerOptions layers;       ///< of astra-sim and simai
  std::string groups;        ///< of to-goal and storage
  StorageModel storage;      ///< of storage
  FillOptions fill;          ///< of pytorch and nccl
  bool start_times = false;  ///< of pytorch
  bool strict = false;       ///< what an input does not say is an error
};

/// Adds the verb. The command line keeps references to `request` and `status`, which is set when the verb has run.
void add_convert_verb(CLI::App& app, ConvertRequest& request, int& status);

}  // namespace rankwire
