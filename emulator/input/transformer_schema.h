// The keys of a transformer at the top level of `workload.generate`.
#pragma once

#include "converters/transformer.h"
#include "emulator/input/decimal.h"
#include "emulator/input/syntax.h"
#include "emulator/input/transformer_preset.h"

namespace rankwire {

inline constexpr int64_t kLargestDimension = 1 << 24;

template <class Visitor>
void describe_latent(Visitor& visit, LatentAttention& latent) {
  const Integer<int64_t> width{0, kLargestDimension};
  visit.field("query", latent.query, width);
  visit.field("key_value", latent.key_value, width);
  visit.field("rope", latent.rope, width);
}

template <class Visitor>
void describe_routing(Visitor& visit, RoutingModel& routing) {
  visit.field("popularity", routing.popularity,
              Choice<RoutingModel::Popularity>{{{"balanced", RoutingModel::Popularity::kBalanced},
                                                {"zipf", RoutingModel::Popularity::kZipf},
                                                {"matrix", RoutingModel::Popularity::kRecorded}}});
  visit.field("exponent", routing.exponent, Decimal{0, 10});
  visit.field("file", routing.file, FilePathOrNone{});
  visit.field("drift", routing.drift, Integer<uint32_t>{0, 100'000});
  visit.field("seed", routing.seed, Integer<uint64_t>{0, UINT64_MAX});
  visit.field("capacity", routing.capacity, Decimal{0, 65'536});
  visit.field("node_limit", routing.node_limit, Integer<uint32_t>{0, 65'536});
  visit.field("node_ranks", routing.node_ranks, Integer<uint32_t>{1, 65'536});
}

/// Where things are stored.
template <class Visitor>
void describe_storage_ranks(Visitor& visit, StorageModel& storage) {
  visit.field("ranks", storage.ranks, Integer<uint32_t>{0, 4'096});
  visit.field("placement", storage.placement,
              Choice<StorageModel::Placement>{
                  {{"striped", StorageModel::Placement::kStriped}, {"hashed", StorageModel::Placement::kHashed}}});
  visit.field("stripe", storage.stripe, Size{Bytes(1 << 10), Bytes(1LL << 40)});
  visit.field("seed", storage.seed, Integer<uint64_t>{});
  visit.field("bandwidth", storage.bandwidth, Or{"none", Rate{}});
}

template <class Visitor>
void describe_storage(Visitor& visit, StorageModel& storage) {
  describe_storage_ranks(visit, storage);
  visit.section("samples", [&](auto& keys) {
    keys.field("size", storage.sample, Size{Bytes(0), Bytes(1LL << 40)});
    keys.field("prefetch", storage.prefetch, Integer<uint32_t>{0, 1'024});
  });
  visit.section("checkpoint", [&](auto& keys) {
    keys.field("every", storage.every, Integer<uint32_t>{0, 10'000});
    keys.field("mode", storage.asynchronous, Choice<bool>{{{"sync", false}, {"async", true}}});
    keys.field("copy", storage.copy, Or{"none", Rate{}});
    keys.field("optimizer_bytes", storage.optimizer_bytes, Integer<uint32_t>{0, 64});
    keys.field("writers", storage.writers,
               Choice<StorageModel::Writers>{
                   {{"first", StorageModel::Writers::kFirst}, {"all", StorageModel::Writers::kAll}}});
    keys.field("restore", storage.restore, on_or_off());
  });
}

template <class Visitor>
void describe_transformer(Visitor& visit, TransformerModel& model) {
  const Integer<int64_t> dimension{1, kLargestDimension}, width{0, kLargestDimension};
  const Integer<uint32_t> degree{1, 65'536};
  visit.field("model", model.preset, PublishedName{});
  visit.field("layers", model.layers, Integer<uint32_t>{1, 10'000});
  visit.field("hidden", model.hidden, dimension);
  visit.field("sequence", model.sequence, dimension);
  visit.field("vocabulary", model.vocabulary, dimension);
  visit.field("tied_embeddings", model.tied_embeddings, on_or_off());
  visit.field("ffn", model.ffn, width);
  visit.field("gated", model.gated, on_or_off());
  visit.field("heads", model.heads, Integer<int64_t>{0, 65'536});
  visit.field("key_value_heads", model.key_value_heads, Integer<int64_t>{0, 65'536});
  visit.field("head_size", model.head_size, Integer<int64_t>{0, 65'536});
  visit.field("key_value", model.key_value, width);
  visit.section("latent", [&](auto& keys) { describe_latent(keys, model.latent); });
  visit.field("experts", model.experts, degree);
  visit.field("experts_per_token", model.experts_per_token, degree);
  visit.field("expert_ffn", model.expert_ffn, width);
  visit.field("shared_experts", model.shared_experts, Integer<uint32_t>{0, 1'024});
  visit.field("dense_layers", model.dense_layers, Integer<uint32_t>{0, 10'000});
  visit.field("expert_interval", model.expert_interval, Integer<uint32_t>{1, 10'000});
  visit.section("routing", [&](auto& keys) { describe_routing(keys, model.routing); });
  visit.field("micro_batches", model.micro_batches, Integer<uint32_t>{1, 100'000});
  visit.field("micro_batch_size", model.micro_batch_size, Integer<int64_t>{1, 100'000});
  visit.field("tensor_parallel", model.tensor_parallel, Integer<uint32_t>{1, 1'024});
  visit.field("sequence_parallel", model.sequence_parallel, on_or_off());
  visit.field("context_parallel", model.context_parallel, Integer<uint32_t>{1, 1'024});
  visit.field("context", model.context,
              Choice<TransformerModel::Context>{
                  {{"ring", TransformerModel::Context::kRing}, {"all_to_all", TransformerModel::Context::kAllToAll}}});
  visit.field("causal", model.causal,
              Choice<TransformerModel::Causal>{{{"off", TransformerModel::Causal::kOff},
                                                {"on", TransformerModel::Causal::kBalanced},
                                                {"contiguous", TransformerModel::Causal::kContiguous}}});
  visit.field("pipeline_parallel", model.pipeline_parallel, Integer<uint32_t>{1, 1'024});
  visit.field("pipeline", model.pipeline,
              Choice<PipelineOrder>{{{"1f1b", PipelineOrder::kOneForwardOneBackward},
                                     {"interleaved", PipelineOrder::kInterleaved},
                                     {"zb-h1", PipelineOrder::kZeroBubble},
                                     {"dualpipe", PipelineOrder::kDualPipe}}});
  visit.field("virtual_stages", model.virtual_stages, Integer<uint32_t>{1, 1'024});
  visit.list("pipeline_layers", model.pipeline_layers, Integer<uint32_t>{0, 10'000});
  visit.field("data_parallel", model.data_parallel, degree);
  visit.field("expert_parallel", model.expert_parallel, degree);
  visit.field("zero", model.zero, Integer<uint32_t>{0, 3});
  visit.field("shard_replicas", model.shard_replicas, degree);
  visit.field("reshard_after_forward", model.reshard_after_forward, on_or_off());
  visit.field("prefetch", model.prefetch, Integer<uint32_t>{0, 1'024});
  visit.field("overlap", model.overlap, on_or_off());
  visit.field("order", model.order,
              Choice<TransformerModel::Order>{{{"tp-dp-pp", TransformerModel::Order::kTensorData},
                                               {"dp-tp-pp", TransformerModel::Order::kDataTensor}}});
  visit.field("steps", model.steps, Integer<uint32_t>{1, 10'000});
  visit.section("storage", [&](auto& keys) { describe_storage(keys, model.storage); });
}

}  // namespace rankwire
