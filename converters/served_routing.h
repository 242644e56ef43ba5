// Which experts the tokens of an inference service go to, batch by batch.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "converters/expert_routing.h"
#include "converters/serving_model.h"

namespace rankwire {

/// Of the instances of one pool. Those of one instance are kept until another one is asked for.
class ServedRouting {
 public:
  /// `first_rank` is that of the pool. The model and the pool are borrowed. Throws as ExpertRouting does.
  ServedRouting(const ServingModel& model, const ServingPool& pool, uint32_t first_rank);

  /// Every replica sends as much to every other one.
  bool even() const { return routing_.even(); }
  /// From replica to replica, each of which has `tokens` in the batch.
  const TokenMatrix& tokens(uint32_t instance, uint32_t batch, uint32_t layer, int64_t tokens);

 private:
  const ServingPool& pool_;
  const uint32_t first_rank_;
  ExpertRouting routing_;
  uint32_t instance_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, TokenMatrix> kept_;  ///< by batch and layer
};

}  // namespace rankwire
