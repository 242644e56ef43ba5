#include "converters/served_traces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "converters/model_sizes.h"

namespace rankwire {
namespace {

/// A node of the host that lasts from `before` to the request's arrival; of the first one `last` is empty.
NodeWriter::Id write_arrival(NodeWriter& nodes, const ServedTraffic& traffic, uint32_t request, Duration before,
                             std::span<const NodeWriter::Id> last) {
  const Duration gap = traffic.requests[request].arrival - before;
  return nodes.on_host().compute(fmt::format("request{}.arrival", request),
                                 static_cast<uint64_t>(gap.ps / microseconds(1).ps), 0, Bytes(), last);
}

/// A rank that has nothing to do still has a trace. Returns the number of nodes.
uint64_t close_trace(NodeWriter& nodes) {
  if (nodes.counts().nodes == 0) nodes.on_host().compute("idle", 1, 0, Bytes(), {});
  return nodes.close();
}

constexpr int64_t kHostMemory = 2, kPooledMemory = 3;  // Chakra's places of tensors: REMOTE_MEMORY, CXL_MEMORY

Bytes kv_size(const ServingModel& model, const KvPart& part, KvMessage message) {
  return Bytes(size_product({part.elements, message.tokens, message.layers, model.element.count}));
}

}  // namespace

InstanceTrace::InstanceTrace(const ServedTraffic& traffic, ServedRouting& routing, const PoolPlace& place,
                             const InstancePlan& plan, uint32_t instance, uint32_t replica, uint32_t shard,
                             const NodeFile& file)
    : traffic_(traffic),
      routing_(routing),
      place_(place),
      plan_(plan),
      instance_(instance),
      replica_(replica),
      shard_(shard),
      rank_(place.rank(instance, replica, shard)),
      cost_(traffic.model, *place.pool),
      nodes_(file) {
  for (uint32_t r = 0; r < traffic.requests.size(); ++r) {
    if (computes_prompts() ? traffic.plan.prefill_of[r] == instance
                           : traffic.moves_kv(r) && traffic.plan.decode_of[r] == instance)
      requests_.push_back(r);
  }
  if (traffic.decodes.pool == nullptr) return;
  for (const KvPart& part : kv_parts(traffic.model.attention, traffic.prompts.pool->tensor_parallel,
                                     traffic.decodes.pool->tensor_parallel)) {
    if ((computes_prompts() ? part.source : part.destination) == shard) parts_.push_back(part);
  }
}

uint64_t InstanceTrace::write() {
  for (uint32_t i = 0; i < plan_.batches.size(); ++i) write_batch(plan_.batches[i], i);
  return close_trace(nodes_);
}

std::string InstanceTrace::group(const char* kind, uint32_t number) const {
  return fmt::format("{}{}.{}{}", place_.name, instance_, kind, number);
}

void InstanceTrace::write_batch(const Batch& batch, uint32_t number) {
  for (const BatchPiece& piece : batch.pieces) begin(piece, last_);
  const std::string name = fmt::format("batch{}", number);
  compute(name + ".embedding", cost_.embedding(batch));
  exchange(name + ".embedding.all_reduce", chakra::ALL_REDUCE, group("tp", replica_), cost_.activations(batch));
  for (uint32_t i = 0; i < traffic_.model.layers; ++i)
    write_layer(batch, number, i, fmt::format("{}.layer{}", name, i));
  if (batch.given() > 0) write_logits(batch, name);
  if (!computes_prompts() || traffic_.model.kv_transfer != KvTransfer::kWhole) return;
  for (const BatchPiece& piece : batch.pieces)
    if (piece.gives_token && !piece.decodes) send(piece.request, traffic_.kv_messages[piece.request].front(), "");
}

/// Adds to `needed` what the request's first piece here waits for.
void InstanceTrace::begin(const BatchPiece& piece, std::vector<Id>& needed) {
  const ServedRequest& request = traffic_.requests[piece.request];
  if (piece.context != (computes_prompts() ? request.cached : request.input)) return;
  const Id arrived = arrival(piece.request);
  needed.push_back(arrived);
  if (!has(piece.request)) return;
  if (!computes_prompts()) {
    receive(piece.request, arrived, needed);
  } else if (request.cached > 0) {
    fetch(piece.request, arrived, needed);
  }
}

/// The node, behind those of all requests of the instance that arrived before.
InstanceTrace::Id InstanceTrace::arrival(uint32_t request) {
  const auto at = static_cast<size_t>(std::ranges::lower_bound(requests_, request) - requests_.begin());
  while (arrivals_.size() <= at) {
    const uint32_t next = requests_[arrivals_.size()];
    if (computes_prompts() && is_first()) {
      nodes_.with("request_arrival", fmt::format("[{}]", next));
      nodes_.with("request_input_tokens", fmt::format("[{}]", traffic_.requests[next].input));
      if (!traffic_.plan.held.empty())
        nodes_.with("request_held_batches", fmt::format("[{}]", traffic_.plan.held[next]));
    }
    const bool is_first_one = arrivals_.empty();
    const Duration before = is_first_one ? Duration() : traffic_.requests[requests_[arrivals_.size() - 1]].arrival;
    const auto last = is_first_one ? std::span<const Id>() : std::span<const Id>(&arrivals_.back(), 1);
    arrivals_.push_back(write_arrival(nodes_, traffic_, next, before, last));
  }
  return arrivals_[at];
}

void InstanceTrace::receive(uint32_t request, Id arrival, std::vector<Id>& needed) {
  const PoolPlace& from = traffic_.prompts;
  for (const KvMessage& message : traffic_.kv_messages[request]) {
    for (const KvPart& part : parts_) {
      const uint32_t source =
          from.rank(traffic_.plan.prefill_of[request], request % from.pool->expert_parallel, part.source);
      needed.push_back(nodes_.receive(fmt::format("request{}.kv.receive", request), source, rank_, request,
                                      kv_size(traffic_.model, part, message), {&arrival, 1}));
    }
  }
}

void InstanceTrace::fetch(uint32_t request, Id arrival, std::vector<Id>& needed) {
  const KvMessage prefix{.tokens = traffic_.requests[request].cached, .layers = traffic_.model.layers};
  for (const KvPart& part : kv_parts(traffic_.model.attention, 1, place_.pool->tensor_parallel)) {
    if (part.destination != shard_) continue;
    const Bytes size = kv_size(traffic_.model, part, prefix);
    if (traffic_.requests[request].near) {
      // In the accelerator's turn, between what it computes of the batch before.
      nodes_.with("tensor_loc", kHostMemory);
      needed.push_back(nodes_.load(fmt::format("request{}.prefix.load", request),
                                   micros_of(size, traffic_.model.local_cache_bandwidth), size, {&arrival, 1}));
      continue;
    }
    needed.push_back(nodes_.receive(fmt::format("request{}.prefix.receive", request), traffic_.cache_rank(request),
                                    rank_, request, size, {&arrival, 1}));
  }
}

void InstanceTrace::send(uint32_t request, KvMessage message, const std::string& part_name) {
  if (!traffic_.moves_kv(request) || !has(request)) return;
  const PoolPlace& to = traffic_.decodes;
  for (const KvPart& part : parts_) {
    const uint32_t destination =
        to.rank(traffic_.plan.decode_of[request], request % to.pool->expert_parallel, part.destination);
    nodes_.send(fmt::format("request{}.kv{}.send", request, part_name), rank_, destination, request,
                kv_size(traffic_.model, part, message), last_);
  }
}

void InstanceTrace::write_layer(const Batch& batch, uint32_t number, uint32_t layer, const std::string& name) {
  compute(name + ".attention", cost_.attention(batch));
  if (computes_prompts() && traffic_.model.kv_transfer == KvTransfer::kLayers) {
    for (const BatchPiece& piece : batch.pieces) {
      if (piece.decodes) continue;
      const bool with_prefix = piece.context == traffic_.requests[piece.request].cached;
      send(piece.request, {.tokens = piece.tokens + (with_prefix ? piece.context : 0), .layers = 1},
           fmt::format(".layer{}", layer));
    }
  }
  exchange(name + ".attention.all_reduce", chakra::ALL_REDUCE, group("tp", replica_), cost_.activations(batch));
  if (traffic_.model.has_experts(layer)) {
    write_experts(batch, number, layer, name);
  } else {
    compute(name + ".mlp", cost_.mlp(batch));
  }
  exchange(name + ".mlp.all_reduce", chakra::ALL_REDUCE, group("tp", replica_), cost_.activations(batch));
}

/// Shared experts work while tokens are on their way.
void InstanceTrace::write_experts(const Batch& batch, uint32_t number, uint32_t layer, const std::string& name) {
  std::vector<Bytes> sent, received;  // by replica; empty where all are equal
  int64_t leaving = cost_.even_visits(batch), coming = leaving;
  if (!routing_.even()) {
    const TokenMatrix& matrix = routing_.tokens(instance_, number, layer, cost_.tokens(batch));
    const auto add = [&](const std::vector<int64_t>& parts, std::vector<Bytes>& bytes) {
      for (const int64_t part : parts) bytes.push_back(cost_.activations(part));
      return std::accumulate(parts.begin(), parts.end(), int64_t{0});
    };
    leaving = add(matrix.sent(replica_), sent), coming = add(matrix.received(replica_), received);
  }
  compute(name + ".router", cost_.router(batch));
  const std::vector<Id> routed = last_;
  exchange(name + ".dispatch.all_to_all", chakra::ALL_TO_ALL, group("ep", shard_), cost_.activations(leaving), sent);
  if (traffic_.model.shared_experts > 0) {
    const std::vector<Id> dispatched = std::exchange(last_, routed);
    compute(name + ".shared", cost_.shared_experts(batch));
    last_.insert(last_.end(), dispatched.begin(), dispatched.end());
  }
  compute(name + ".mlp", cost_.experts(coming));
  exchange(name + ".combine.all_to_all", chakra::ALL_TO_ALL, group("ep", shard_), cost_.activations(coming), received);
}

void InstanceTrace::write_logits(const Batch& batch, const std::string& name) {
  const bool gathers = place_.pool->tensor_parallel > 1;
  if (!gathers) mark_tokens(batch);
  compute(name + ".logits", cost_.logits(batch));
  if (gathers) mark_tokens(batch);
  exchange(name + ".logits.all_gather", chakra::ALL_GATHER, group("tp", replica_), cost_.logits_shard(batch));
}

/// On the next node.
void InstanceTrace::mark_tokens(const Batch& batch) {
  if (!is_first()) return;
  std::vector<uint32_t> given;
  for (const BatchPiece& piece : batch.pieces)
    if (piece.gives_token) given.push_back(piece.request);
  nodes_.with("request_token", fmt::format("[{}]", fmt::join(given, ", ")));
}

void InstanceTrace::compute(const std::string& name, const Work& work) {
  last_ = {nodes_.compute(name, whole_micros(cost_.time_of(work)), work.flops, work.memory, last_)};
}

/// `group` has one member where a degree is 1, which causes no communication.
void InstanceTrace::exchange(const std::string& name, chakra::CollectiveCommType kind, const std::string& group,
                             Bytes size, const std::vector<Bytes>& splits) {
  const bool among_experts = kind == chakra::ALL_TO_ALL;
  if ((among_experts ? place_.pool->expert_parallel : place_.pool->tensor_parallel) == 1) return;
  nodes_.with_splits(splits);
  last_ = {nodes_.collective(name, kind, group, size, last_)};
}

/// At least 1, since a computation without a duration would be timed by whoever runs the trace.
uint64_t InstanceTrace::whole_micros(Duration time) {
  owed_ += time;
  const int64_t micros = std::max<int64_t>(owed_.ps / microseconds(1).ps, 1);
  owed_ -= microseconds(micros);
  return static_cast<uint64_t>(micros);
}

uint64_t write_cache_rank(const ServedTraffic& traffic, uint32_t rank, const NodeFile& file) {
  NodeWriter nodes(file);
  const PoolPlace& to = traffic.prompts;
  const std::vector<KvPart> parts = kv_parts(traffic.model.attention, 1, to.pool->tensor_parallel);
  std::vector<NodeWriter::Id> last;  // of the arrivals
  Duration before;
  for (uint32_t r = 0; r < traffic.requests.size(); ++r) {
    const ServedRequest& request = traffic.requests[r];
    if (!traffic.is_fetched(r) || traffic.cache_rank(r) != rank) continue;
    last = {write_arrival(nodes, traffic, r, before, last)};
    before = request.arrival;
    const KvMessage prefix{.tokens = request.cached, .layers = traffic.model.layers};
    std::vector<NodeWriter::Id> ready = last;
    if (traffic.model.cache_bandwidth) {
      Bytes sum;
      for (const KvPart& part : parts) sum += kv_size(traffic.model, part, prefix);
      nodes.with("tensor_loc", kPooledMemory);
      ready = {nodes.load(fmt::format("request{}.prefix.read", r), micros_of(sum, *traffic.model.cache_bandwidth), sum,
                          last)};
    }
    for (const KvPart& part : parts) {
      const uint32_t destination = to.rank(traffic.plan.prefill_of[r], r % to.pool->expert_parallel, part.destination);
      nodes.send(fmt::format("request{}.prefix.send", r), rank, destination, r, kv_size(traffic.model, part, prefix),
                 ready);
    }
  }
  return close_trace(nodes);
}

}  // namespace rankwire
