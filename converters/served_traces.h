// Writes what the ranks of an inference service do; see inference.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/batching.h"
#include "converters/inference_cost.h"
#include "converters/kv_cache.h"
#include "converters/node_writer.h"
#include "converters/served_routing.h"
#include "converters/serving_model.h"

namespace rankwire {

/// Where the instances of a pool stand.
struct PoolPlace {
  const char* name = "";  ///< "prefill", "decode", "mixed"
  const ServingPool* pool = nullptr;
  uint32_t first_rank = 0;

  uint32_t ranks_each() const { return pool->tensor_parallel * pool->expert_parallel; }
  uint32_t rank(uint32_t instance, uint32_t replica, uint32_t shard) const {
    return first_rank + instance * ranks_each() + replica * pool->tensor_parallel + shard;
  }
};

/// Keys and values that go together: of so many tokens and layers.
struct KvMessage {
  int64_t tokens = 0, layers = 0;
};

/// A service with its ranks in their places.
struct ServedTraffic {
  const ServingModel& model;
  std::vector<ServedRequest> requests;
  ServingPlan plan;
  std::vector<std::vector<KvMessage>> kv_messages;  ///< by request: from shard to shard, in their order
  PoolPlace prompts;                                ///< the pool that computes prompts
  PoolPlace decodes;                                ///< the other one; without a pool where one does both
  uint32_t first_cache_rank = 0;

  /// Whether keys and values go from one pool to the other.
  bool moves_kv(uint32_t request) const { return decodes.pool != nullptr && requests[request].output > 1; }
  uint32_t cache_rank(uint32_t request) const { return first_cache_rank + request % model.cache_ranks; }
  bool is_fetched(uint32_t request) const { return requests[request].cached > 0 && !requests[request].near; }
};

/// Of one rank of an instance. Each batch depends on the one before it through `last_`; keys and values that leave do
/// so beside what follows.
class InstanceTrace {
 public:
  /// All but the file outlive the writer.
  InstanceTrace(const ServedTraffic& traffic, ServedRouting& routing, const PoolPlace& place, const InstancePlan& plan,
                uint32_t instance, uint32_t replica, uint32_t shard, const NodeFile& file);

  /// Returns the number of nodes.
  uint64_t write();

 private:
  using Id = NodeWriter::Id;

  bool computes_prompts() const { return &place_ == &traffic_.prompts; }
  bool is_first() const { return replica_ == 0 && shard_ == 0; }
  /// Whether the rank's replica has the request.
  bool has(uint32_t request) const { return request % place_.pool->expert_parallel == replica_; }
  std::string group(const char* kind, uint32_t number) const;

  void write_batch(const Batch& batch, uint32_t number);
  void begin(const BatchPiece& piece, std::vector<Id>& needed);
  Id arrival(uint32_t request);
  void receive(uint32_t request, Id arrival, std::vector<Id>& needed);
  void fetch(uint32_t request, Id arrival, std::vector<Id>& needed);
  void send(uint32_t request, KvMessage message, const std::string& part);
  void write_layer(const Batch& batch, uint32_t number, uint32_t layer, const std::string& name);
  void write_experts(const Batch& batch, uint32_t number, uint32_t layer, const std::string& name);
  void write_logits(const Batch& batch, const std::string& name);
  void mark_tokens(const Batch& batch);
  void compute(const std::string& name, const Work& work);
  void exchange(const std::string& name, chakra::CollectiveCommType kind, const std::string& group, Bytes size,
                const std::vector<Bytes>& splits = {});
  uint64_t whole_micros(Duration time);

  const ServedTraffic& traffic_;
  ServedRouting& routing_;
  const PoolPlace& place_;
  const InstancePlan& plan_;
  const uint32_t instance_, replica_, shard_, rank_;
  const InferenceCost cost_;
  std::vector<uint32_t> requests_;  ///< of the instance, in the order of their arrival
  std::vector<Id> arrivals_;        ///< of the first of them: their nodes
  std::vector<KvPart> parts_;       ///< that the rank's shard sends or takes
  NodeWriter nodes_;
  std::vector<Id> last_;
  Duration owed_;  ///< what whole microseconds have left out of the durations so far; < 0: what they had too much
};

/// Of a rank of the cache, which sends what is asked of it when requests arrive. Returns the number of nodes.
uint64_t write_cache_rank(const ServedTraffic& traffic, uint32_t rank, const NodeFile& file);

}  // namespace rankwire
