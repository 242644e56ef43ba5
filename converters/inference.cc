#include "converters/inference.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/message.h"
#include "converters/model_sizes.h"
#include "converters/node_writer.h"
#include "converters/served_traces.h"

namespace rankwire {
namespace {

constexpr const char* kService = "inference";

void check_pool(const ServingModel& model, const char* name, const ServingPool& pool) {
  const std::string where = fmt::format("{} {}", kService, name);
  check_positive(where.c_str(), {{"instances", pool.instances},
                                 {"tensor_parallel", pool.tensor_parallel},
                                 {"expert_parallel", pool.expert_parallel},
                                 {"max_tokens", pool.max_tokens},
                                 {"max_requests", pool.max_requests}});
  check_multiple(where.c_str(), "experts", model.experts, "expert_parallel", pool.expert_parallel);
  check_multiple(where.c_str(), "ffn", model.mlp_width(), "tensor_parallel", pool.tensor_parallel);
  check_multiple(where.c_str(), "expert_ffn", model.expert_width(), "tensor_parallel", pool.tensor_parallel);
  if (pool.max_tokens < pool.max_requests)
    fail_input("{}: max_tokens {} is below max_requests {}, each of which has a token in a batch", where,
               pool.max_tokens, pool.max_requests);
  check_shards(model.attention, pool.tensor_parallel);
}

void check_pools(const ServingModel& model) {
  if (model.mixed && (model.prefill || model.decode))
    fail_input("{}: has a mixed pool beside prefill or decode; give one of both", kService);
  if (model.mixed) return check_pool(model, "mixed", *model.mixed);
  if (!model.prefill) fail_input("{}: has no prefill pool, nor a mixed one that does without", kService);
  if (!model.decode) fail_input("{}: has no decode pool, nor a mixed one that does without", kService);
  check_pool(model, "prefill", *model.prefill);
  check_pool(model, "decode", *model.decode);
}

void check_service(const ServingModel& model) {
  check_positive(kService, {{"layers", model.layers},
                            {"hidden", model.hidden},
                            {"vocabulary", model.vocabulary},
                            {"experts", model.experts},
                            {"experts_per_token", model.experts_per_token},
                            {"element", model.element.count},
                            {"heads", model.attention.heads},
                            {"kv_heads", model.attention.kv_heads},
                            {"head_dim", model.attention.head_dim},
                            {"peak", model.peak_flops},
                            {"memory_bandwidth", model.memory_bandwidth.bits_per_second},
                            {"network", model.network.bits_per_second}});
  if (model.attention.latent == 0)
    check_multiple(kService, "heads", model.attention.heads, "kv_heads", model.attention.kv_heads);
  if (model.experts_per_token > model.experts)
    fail_input("{}: experts_per_token {} is above experts {}", kService, model.experts_per_token, model.experts);
  if (model.dense_layers > model.layers)
    fail_input("{}: dense_layers {} is above layers {}", kService, model.dense_layers, model.layers);
  if (model.requests.hit_ppm > 0 && model.cache_ranks == 0)
    fail_input("{}: requests hit a cache that has no ranks; it must have 1 or more", kService);
  check_pools(model);
}

uint64_t pool_ranks(const std::optional<ServingPool>& pool) {
  return pool ? uint64_t{pool->instances} * pool->tensor_parallel * pool->expert_parallel : 0;
}

/// In the order in which they are sent.
std::vector<std::vector<KvMessage>> kv_messages(const ServingModel& model, const std::vector<ServedRequest>& requests,
                                                const ServingPlan& plan) {
  std::vector<std::vector<KvMessage>> messages(requests.size());
  if (model.kv_transfer == KvTransfer::kWhole) {
    for (size_t r = 0; r < requests.size(); ++r) messages[r] = {{.tokens = requests[r].input, .layers = model.layers}};
    return messages;
  }
  for (const InstancePlan& instance : plan.prefill) {
    for (const Batch& batch : instance.batches) {
      for (const BatchPiece& piece : batch.pieces) {
        if (piece.decodes) continue;
        // The first part comes with the prefix that was not computed.
        std::vector<KvMessage>& of = messages[piece.request];
        const int64_t tokens = piece.tokens + (of.empty() ? piece.context : 0);
        of.insert(of.end(), model.layers, {.tokens = tokens, .layers = 1});
      }
    }
  }
  return messages;
}

ServedTraffic served_traffic(const ServingModel& model) {
  ServedTraffic traffic{.model = model, .requests = make_requests(model.requests)};
  traffic.plan = plan_batches(model, traffic.requests);
  traffic.kv_messages = kv_messages(model, traffic.requests, traffic.plan);
  traffic.prompts = {.name = model.mixed ? "mixed" : "prefill", .pool = model.mixed ? &*model.mixed : &*model.prefill};
  if (!model.mixed)
    traffic.decodes = {
        .name = "decode", .pool = &*model.decode, .first_rank = static_cast<uint32_t>(pool_ranks(model.prefill))};
  traffic.first_cache_rank =
      static_cast<uint32_t>(pool_ranks(model.prefill) + pool_ranks(model.decode) + pool_ranks(model.mixed));
  return traffic;
}

/// Of batches, which are nearly all.
void check_size(const ServedTraffic& traffic) {
  const ServingModel& model = traffic.model;
  const uint64_t of_batch = 4 + uint64_t{model.layers} * (model.experts > 1 ? 8 : 4);
  uint64_t nodes = 0;
  const auto add = [&](const PoolPlace& place, const std::vector<InstancePlan>& plans) {
    for (const InstancePlan& plan : plans) nodes += plan.batches.size() * of_batch * place.ranks_each();
  };
  add(traffic.prompts, traffic.plan.prefill);
  add(traffic.decodes, traffic.plan.decode);
  if (nodes > kMostServedNodes)
    fail_input(
        "inference.arrivals.requests: make {} nodes, the most is {}: take fewer, or fewer output tokens, layers "
        "or ranks",
        nodes, kMostServedNodes);
}

uint64_t write_pool(const ServedTraffic& traffic, const PoolPlace& place, const std::vector<InstancePlan>& plans,
                    const NodeFiles& set, GroupMembers& groups) {
  uint64_t nodes = 0;
  ServedRouting routing(traffic.model, *place.pool, place.first_rank);
  const uint32_t replicas = place.pool->expert_parallel, shards = place.pool->tensor_parallel;
  for (uint32_t i = 0; i < plans.size(); ++i) {
    for (uint32_t replica = 0; replica < replicas; ++replica) {
      for (uint32_t shard = 0; shard < shards; ++shard) {
        const uint32_t rank = place.rank(i, replica, shard);
        nodes += InstanceTrace(traffic, routing, place, plans[i], i, replica, shard, set.file(rank)).write();
        if (shards > 1) groups[fmt::format("{}{}.tp{}", place.name, i, replica)].push_back(rank);
        if (replicas > 1) groups[fmt::format("{}{}.ep{}", place.name, i, shard)].push_back(rank);
      }
    }
  }
  return nodes;
}

}  // namespace

uint32_t inference_ranks(const ServingModel& model) {
  check_service(model);
  const uint64_t ranks =
      pool_ranks(model.prefill) + pool_ranks(model.decode) + pool_ranks(model.mixed) + model.cache_ranks;
  if (ranks > MessageId::kMaxRanks) fail_input("{}: more than {} ranks", kService, MessageId::kMaxRanks);
  return static_cast<uint32_t>(ranks);
}

GeneratedTraces generate_inference(const ServingModel& model, const NodeFiles& set) {
  GeneratedTraces traces{inference_ranks(model), 0};
  const ServedTraffic traffic = served_traffic(model);
  check_size(traffic);
  GroupMembers groups;
  traces.nodes += write_pool(traffic, traffic.prompts, traffic.plan.prefill, set, groups);
  if (traffic.decodes.pool != nullptr)
    traces.nodes += write_pool(traffic, traffic.decodes, traffic.plan.decode, set, groups);
  for (uint32_t c = 0; c < model.cache_ranks; ++c) {
    const uint32_t rank = traffic.first_cache_rank + c;
    traces.nodes += write_cache_rank(traffic, rank, set.file(rank));
  }
  write_group_file(groups, set);
  return traces;
}

}  // namespace rankwire
