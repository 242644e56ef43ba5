#include "converters/batching.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "base/error.h"
#include "converters/inference_cost.h"
#include "converters/kv_cache.h"
#include "converters/model_sizes.h"
#include "converters/serving_instance.h"

namespace rankwire {
namespace {

/// Instances of one pool.
class PoolPlanner {
 public:
  /// `name` is the pool's key.
  PoolPlanner(const ServingModel& model, const char* name, const ServingPool& pool)
      : name_(name), pool_(pool), cost_(model, pool), instances_(pool.instances, ServingInstance(pool, cost_)) {}
  PoolPlanner(const PoolPlanner&) = delete;
  PoolPlanner& operator=(const PoolPlanner&) = delete;

  /// Gives the request to the instance of which `load` is the least at `now`, which is not before that of the call
  /// before, and returns which. Throws Error(kInput) for one that the memory for keys and values never has room for.
  template <class Load>
  uint32_t add(const WaitingRequest& request, Duration now, Load load) {
    if (request.kept_tokens() > cost_.most_kept())
      fail_input("inference.{}.kv_memory: request {} has keys and values of {} tokens, but {} B have room for {}",
                 name_, request.request, request.kept_tokens(), pool_.kv_memory.count, cost_.most_kept());
    for (ServingInstance& instance : instances_) instance.advance(now);
    const auto least = std::ranges::min_element(instances_, {}, load);
    least->add(request);
    return static_cast<uint32_t>(least - instances_.begin());
  }
  std::vector<InstancePlan> finish() {
    std::vector<InstancePlan> plans;
    for (ServingInstance& instance : instances_) {
      instance.advance(Duration::max());
      for (const FirstToken& token : instance.take_first_tokens()) first_tokens_.push_back(token);
      for (const HeldRequest& held : instance.take_held()) held_.push_back(held);
      plans.push_back(instance.take_plan());
    }
    return plans;
  }
  const std::vector<FirstToken>& first_tokens() const { return first_tokens_; }
  const std::vector<HeldRequest>& held() const { return held_; }

 private:
  const char* const name_;
  const ServingPool& pool_;
  const InferenceCost cost_;
  std::deque<ServingInstance> instances_;
  std::vector<FirstToken> first_tokens_;
  std::vector<HeldRequest> held_;
};

/// Where the pool has a limit.
void add_held(const ServingPool& pool, const PoolPlanner& planner, size_t requests, std::vector<uint32_t>& held) {
  if (pool.kv_memory.count == 0) return;
  held.resize(requests);
  for (const HeldRequest& of : planner.held()) held[of.request] += of.batches;
}

/// What the busiest shard sends, or takes, of one token.
Duration transfer_time(const ServingModel& model, uint32_t shards, int64_t tokens) {
  const Bytes size(size_product(
      {kv_elements_of_shard(model.attention, shards), tokens, int64_t{model.layers}, model.element.count}));
  return network_time(model, size);
}

/// Until the prefix of a request is there.
Duration prefix_time(const ServingModel& model, uint32_t shards, const ServedRequest& request) {
  const auto at = [&](Bandwidth rate, uint32_t of_shards) {
    const Bytes size(size_product({kv_elements_of_shard(model.attention, of_shards), request.cached,
                                   int64_t{model.layers}, model.element.count}));
    return microseconds(static_cast<int64_t>(micros_of(size, rate)));
  };
  if (request.cached == 0) return Duration();
  if (request.near) return at(model.local_cache_bandwidth, shards);
  const Duration read = model.cache_bandwidth ? at(*model.cache_bandwidth, 1) : Duration();
  return read + transfer_time(model, shards, request.cached);
}

std::vector<InstancePlan> plan_prompts(const ServingModel& model, const std::vector<ServedRequest>& requests,
                                       ServingPlan& plan, std::vector<FirstToken>& first_tokens) {
  const ServingPool& pool = model.mixed ? *model.mixed : *model.prefill;
  PoolPlanner planner(model, model.mixed ? "mixed" : "prefill", pool);
  for (uint32_t r = 0; r < requests.size(); ++r) {
    const ServedRequest& request = requests[r];
    const WaitingRequest waiting{.request = r,
                                 .ready = request.arrival + prefix_time(model, pool.tensor_parallel, request),
                                 .context = request.cached,
                                 .prompt_left = request.input - request.cached,
                                 .decodes_left = model.mixed ? request.output - 1 : 0};
    plan.prefill_of.push_back(planner.add(waiting, request.arrival, &ServingInstance::prompt_tokens));
  }
  std::vector<InstancePlan> plans = planner.finish();
  first_tokens = planner.first_tokens();
  add_held(pool, planner, requests.size(), plan.held);
  return plans;
}

std::vector<InstancePlan> plan_decodes(const ServingModel& model, const std::vector<ServedRequest>& requests,
                                       std::vector<FirstToken> first_tokens, ServingPlan& plan) {
  const ServingPool& pool = *model.decode;
  PoolPlanner planner(model, "decode", pool);
  // From here on, `at` is when keys and values have come. Layer by layer most have come before.
  for (FirstToken& token : first_tokens) {
    if (model.kv_transfer == KvTransfer::kWhole)
      token.at += transfer_time(model, pool.tensor_parallel, requests[token.request].input);
  }
  std::ranges::sort(first_tokens, {}, [](const FirstToken& token) { return std::pair(token.at, token.request); });
  plan.decode_of.assign(requests.size(), 0);
  for (const FirstToken& token : first_tokens) {
    const ServedRequest& request = requests[token.request];
    if (request.output == 1) continue;
    const WaitingRequest waiting{.request = token.request,
                                 .ready = token.at,
                                 .context = request.input,
                                 .prompt_left = 0,
                                 .decodes_left = request.output - 1};
    plan.decode_of[token.request] = planner.add(waiting, token.at, &ServingInstance::requests);
  }
  std::vector<InstancePlan> plans = planner.finish();
  add_held(pool, planner, requests.size(), plan.held);
  return plans;
}

}  // namespace

int64_t Batch::tokens() const {
  int64_t sum = 0;
  for (const BatchPiece& piece : pieces) sum += piece.tokens;
  return sum;
}

int64_t Batch::given() const {
  return std::ranges::count_if(pieces, &BatchPiece::gives_token);
}

ServingPlan plan_batches(const ServingModel& model, const std::vector<ServedRequest>& requests) {
  ServingPlan plan;
  std::vector<FirstToken> first_tokens;
  plan.prefill = plan_prompts(model, requests, plan, first_tokens);
  if (!model.mixed) plan.decode = plan_decodes(model, requests, std::move(first_tokens), plan);
  return plan;
}

}  // namespace rankwire
