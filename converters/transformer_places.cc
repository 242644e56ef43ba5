#include "converters/transformer_places.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {
namespace {

/// The rank among all with the same parameters: `data` is below parameter_ranks().
TransformerPlace parameter_place(const TransformerModel& model, TransformerPlace at) {
  if (!model.goes_both_ways() || at.stage < model.pipeline_parallel / 2) return at;
  return {at.shard, at.data + model.data_ranks(), model.pipeline_parallel - 1 - at.stage};
}

/// The reverse.
TransformerPlace pipeline_place(const TransformerModel& model, TransformerPlace at) {
  if (at.data < model.data_ranks()) return at;
  return {at.shard, at.data - model.data_ranks(), model.pipeline_parallel - 1 - at.stage};
}

}  // namespace

uint32_t rank_of(const TransformerModel& model, TransformerPlace at) {
  if (model.order == TransformerModel::Order::kDataTensor)
    return (at.stage * model.tensor_parallel + at.shard) * model.data_ranks() + at.data;
  return (at.stage * model.data_ranks() + at.data) * model.tensor_parallel + at.shard;
}

TransformerPlace place_of(const TransformerModel& model, uint32_t rank) {
  const uint32_t data = model.data_ranks(), tensor = model.tensor_parallel, stage = rank / tensor / data;
  if (model.order == TransformerModel::Order::kDataTensor) return {rank / data % tensor, rank % data, stage};
  return {rank % tensor, rank / tensor % data, stage};
}

uint32_t place_of_part(const TransformerModel& model, uint32_t stage, uint32_t part) {
  if (!model.goes_both_ways()) return part * model.pipeline_parallel + stage;
  const uint32_t opposite = model.pipeline_parallel - 1 - stage;
  return part == 0 ? std::min(stage, opposite) : std::max(stage, opposite);
}

bool has_input(const TransformerModel& model, uint32_t stage) {
  return place_of_part(model, stage, 0) == 0;
}

bool has_output(const TransformerModel& model, uint32_t stage) {
  const uint32_t parts = model.parts_of_stage();
  return place_of_part(model, stage, parts - 1) + 1 == model.pipeline_parallel * model.virtual_stages;
}

PlaceGroup tensor_group(const TransformerModel& model, TransformerPlace at) {
  return {fmt::format("tp_{}", at.stage * model.data_ranks() + at.data), model.tensor_parallel};
}

PlaceGroup context_group(const TransformerModel& model, TransformerPlace at) {
  const uint32_t replica = at.data / model.context_parallel;
  return {fmt::format("cp_{}", (at.stage * model.data_parallel + replica) * model.tensor_parallel + at.shard),
          model.context_parallel};
}

PlaceGroup data_group(const TransformerModel& model, TransformerPlace at) {
  return {fmt::format("dp_{}", parameter_place(model, at).stage * model.tensor_parallel + at.shard),
          model.parameter_ranks()};
}

PlaceGroup embedding_group(const TransformerModel& model, TransformerPlace at) {
  const bool shared = model.tied_embeddings && has_input(model, at.stage) != has_output(model, at.stage);
  return {fmt::format("embedding_{}", at.data * model.tensor_parallel + at.shard), shared ? 2u : 1u};
}

PlaceGroup expert_group(const TransformerModel& model, TransformerPlace at) {
  const uint32_t groups = model.data_ranks() / model.expert_parallel;
  const uint32_t group = at.stage * groups + at.data / model.expert_parallel;
  return {fmt::format("ep_{}", group * model.tensor_parallel + at.shard), model.expert_parallel};
}

ParameterGroups parameter_groups(const TransformerModel& model, TransformerPlace at, bool experts) {
  at = parameter_place(model, at);
  // Of `same` ranks that have the same parameters this is the `own`-th; there are `others` such sets.
  const uint32_t others = experts ? model.expert_parallel : 1;
  const uint32_t same = model.parameter_ranks() / others, own = at.data / others;
  const uint32_t set = at.stage * others + at.data % others;
  const uint32_t copies = model.shard_replicas, parts = same / copies;
  const auto name = [&](const char* kind, uint32_t number) {
    return fmt::format("{}{}_{}", experts ? "e" : "", kind, number * model.tensor_parallel + at.shard);
  };
  const uint32_t part = own % parts, copy = own / parts;
  if (copies == 1) return {{name("dp", set), same}, {}, part, copy};
  return {{name("fsdp", set * copies + copy), parts}, {name("ddp", set * parts + part), copies}, part, copy};
}

TransformerPlace holder_of(const TransformerModel& model, TransformerPlace at, bool experts, uint32_t part,
                           uint32_t copy) {
  at = parameter_place(model, at);
  const uint32_t others = experts ? model.expert_parallel : 1;
  const uint32_t parts = model.parameter_ranks() / others / model.shard_replicas;
  at.data = (copy * parts + part) * others + at.data % others;
  return pipeline_place(model, at);
}

GroupMembers transformer_groups(const TransformerModel& model) {
  GroupMembers groups;
  const uint32_t ranks = model.tensor_parallel * model.data_ranks() * model.pipeline_parallel;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const TransformerPlace at = place_of(model, rank);
    const auto enter = [&](const PlaceGroup& group) {
      if (group.size > 1) groups[group.name].push_back(rank);
    };
    enter(tensor_group(model, at));
    if (model.context == TransformerModel::Context::kAllToAll) enter(context_group(model, at));
    enter(data_group(model, at));
    enter(embedding_group(model, at));
    if (model.experts > 1) enter(expert_group(model, at));
    for (const bool experts : {false, true}) {
      if (experts ? model.experts == 1 : model.shard_replicas == 1) continue;
      const ParameterGroups of = parameter_groups(model, at, experts);
      enter(of.shared), enter(of.kept);
    }
  }
  return groups;
}

}  // namespace rankwire
