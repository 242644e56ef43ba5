#include "converters/served_routing.h"

namespace rankwire {
namespace {

constexpr size_t kMostKeptPairs = size_t{1} << 26;  // of replicas: 512 MiB

/// Of the other pool, where its replicas are not as many.
uint32_t other_replicas(const ServingModel& model, uint32_t replicas) {
  for (const std::optional<ServingPool>* pool : {&model.prefill, &model.decode}) {
    if (*pool && (*pool)->expert_parallel != replicas) return (*pool)->expert_parallel;
  }
  return 0;
}

}  // namespace

ServedRouting::ServedRouting(const ServingModel& model, const ServingPool& pool, uint32_t first_rank)
    : pool_(pool),
      first_rank_(first_rank),
      routing_(model.routing, {.ranks = pool.expert_parallel,
                               .experts = model.experts,
                               .per_token = model.experts_per_token,
                               .tokens = 0,
                               .other_ranks = other_replicas(model, pool.expert_parallel)}) {}

const TokenMatrix& ServedRouting::tokens(uint32_t instance, uint32_t batch, uint32_t layer, int64_t tokens) {
  const size_t pairs = size_t{pool_.expert_parallel} * pool_.expert_parallel;
  if (instance != instance_ || kept_.size() * pairs > kMostKeptPairs) kept_.clear();
  instance_ = instance;
  const auto known = kept_.find({batch, layer});
  if (known != kept_.end()) return known->second;
  // Sources are named by their ranks, which no two replicas of the service share; shards of one route the same tokens.
  const uint64_t first = first_rank_ + uint64_t{instance} * pool_.expert_parallel * pool_.tensor_parallel;
  return kept_.emplace(std::pair(batch, layer), routing_.tokens(layer, batch, first, pool_.tensor_parallel, tokens))
      .first->second;
}

}  // namespace rankwire
