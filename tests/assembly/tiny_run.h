// A training step as small as one can be, for tests that look at the plan or at single packets.
#pragma once

#include <string>
#include <vector>

#include "emulator/input/config.h"

namespace rankwire {

/// The memory ports p0, p1, ...
inline std::vector<PortConfig> memory_ports(uint32_t count) {
  std::vector<PortConfig> ports;
  for (uint32_t p = 0; p < count; ++p) ports.push_back({.name = "p" + std::to_string(p), .device = "memory"});
  return ports;
}

/// Two layers, hidden size 64, one micro-batch of 64 tokens; each rank behind a memory port of its own.
inline RunConfig tiny_run(uint32_t tensor_parallel, uint32_t data_parallel) {
  RunConfig config;
  config.workload.generate = {.transformer = {.layers = 2,
                                              .hidden = 64,
                                              .sequence = 64,
                                              .vocabulary = 100,
                                              .micro_batches = 1,
                                              .tensor_parallel = tensor_parallel,
                                              .pipeline_parallel = 1,
                                              .data_parallel = data_parallel}};
  config.ports = memory_ports(tensor_parallel * data_parallel);
  return config;
}

}  // namespace rankwire
