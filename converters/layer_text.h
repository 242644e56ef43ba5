// Workloads layer by layer, as ASTRA-sim 1 and SimAI read them: a line for the kind of parallelism, one with the number
// of layers, and one a layer with a name, a number that nobody reads, for forward pass, input gradient and weight
// gradient each a time, a collective and its size, and a time for the update.
//
// Source: astra-sim (branch ASTRA-sim-1.0), workload/Workload.cc; aliyun/SimAI, astra-sim-alibabacloud/astra-sim/
// workload/Workload.cc; aliyun/aicb, workload_generator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "proto/chakra.pb.h"

namespace rankwire {

enum class Parallelism : uint8_t {
  kMicro,
  kData,
  kModel,
  kHybridDataModel,
  kHybridModelData,
  kHybridCustomized,  ///< each layer names its own
  kDlrm,
  kInference,
  kTransformer,
  kTransformerRecomputing,  ///< HYBRID_TRANSFORMER_FWD_IN_BCKWD
};

/// Who takes part in a collective.
enum class LayerScope : uint8_t {
  kOwn,             ///< who it is by the kind of parallelism
  kExpert,          ///< suffix _EP
  kDataWithExpert,  ///< suffix _DP_EP: those with the same experts
};

struct LayerCollective {
  std::vector<chakra::CollectiveCommType> kinds;  ///< one after another; none: NONE
  std::string name;                               ///< as written
  LayerScope scope = LayerScope::kOwn;
  Bytes size;
};

enum LayerPass : uint8_t { kForward, kInputGradient, kWeightGradient };

struct Layer {
  std::string name;
  std::array<uint64_t, 3> time{};  ///< by LayerPass, in the file's unit
  std::array<LayerCollective, 3> collective;
  Parallelism policy = Parallelism::kData;  ///< kHybridCustomized
};

struct LayerText {
  Parallelism kind = Parallelism::kData;
  uint32_t last_bottom_layer = 0;                     ///< kDlrm
  std::optional<uint32_t> model_parallel, all_ranks;  ///< model_parallel_NPU_group, all_gpus
  uint32_t expert_parallel = 1, pipeline_parallel = 1;
  std::vector<uint32_t> checkpoints, initiates;  ///< layers
  std::vector<Layer> layers;
};

/// Throws Error(kInput) naming file and line. `path` is for messages.
LayerText parse_layer_text(const std::string& path, std::string_view text, Warnings& warnings);

}  // namespace rankwire
