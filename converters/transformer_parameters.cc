#include "converters/transformer_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/sort_unique.h"
#include "converters/model_sizes.h"

namespace rankwire {

LayerRange layers_of(const TransformerModel& model, uint32_t stage, uint32_t part) {
  const uint32_t place = place_of_part(model, stage, part);
  const std::vector<uint32_t>& given = model.pipeline_layers;
  if (!given.empty()) return {std::accumulate(given.begin(), given.begin() + place, 0u), given[place]};
  const uint32_t count = model.layers / (model.pipeline_parallel * model.virtual_stages);
  return {place * count, count};
}

std::vector<uint32_t> stage_layers(const TransformerModel& model, uint32_t stage) {
  std::vector<uint32_t> layers;
  for (uint32_t part = 0; part < model.parts_of_stage(); ++part) {
    const LayerRange range = layers_of(model, stage, part);
    for (uint32_t i = 0; i < range.count; ++i) layers.push_back(range.first + i);
  }
  return layers;
}

int64_t ParameterExchange::Unit::part() const {
  return divide_up(parameters, groups.shared.size);
}

ParameterExchange::ParameterExchange(RankWriter& rank, const std::vector<PipelineStep>& steps) : rank_(rank) {
  if (sharded()) plan(steps);
}

/// Which passes gather: those of layers that the rank has no parameters of. Steps that run beside each other pass their
/// layers by turns.
void ParameterExchange::plan(const std::vector<PipelineStep>& steps) {
  for (size_t i = 0; i < steps.size();) {
    const size_t end = i + 1 < steps.size() && steps[i + 1].beside ? i + 2 : i + 1;
    for (uint32_t k = 0; k < rank_.model().layers; ++k) {
      for (size_t at = i; at < end; ++at) add_pass(steps[at], k);
    }
    i = end;
  }
  std::vector<uint8_t> has(rank_.model().layers);
  for (LayerPass& pass : passes_) {
    pass.gathers = has[pass.layer] == 0;
    has[pass.layer] = pass.step.pass == Pass::kForward && !rank_.model().reshard_after_forward ? 1 : 0;
  }
  gathered_.resize(passes_.size());
}

/// The k-th layer that the step passes, where it passes so many.
void ParameterExchange::add_pass(const PipelineStep& step, uint32_t k) {
  const LayerRange range = layers_of(rank_.model(), rank_.at().stage, step.part);
  if (step.pass == Pass::kWeight || k >= range.count) return;
  passes_.push_back({step, range.first + (step.pass == Pass::kForward ? k : range.count - 1 - k)});
}

ParameterExchange::Unit ParameterExchange::layer_unit(uint32_t layer) const {
  return {fmt::format("layer{}", layer), rank_.cost().layer_parameters(layer),
          parameter_groups(rank_.model(), rank_.at(), false)};
}

ParameterExchange::Unit ParameterExchange::expert_unit(uint32_t layer) const {
  return {fmt::format("layer{}.experts", layer), rank_.cost().expert_parameters(),
          parameter_groups(rank_.model(), rank_.at(), true)};
}

std::vector<ParameterExchange::Unit> ParameterExchange::units(uint32_t layer) const {
  std::vector<Unit> units = {layer_unit(layer)};
  if (rank_.model().has_experts(layer)) units.push_back(expert_unit(layer));
  return units;
}

ParameterExchange::Unit ParameterExchange::embedding_unit(const std::string& name) const {
  ParameterGroups groups = parameter_groups(rank_.model(), rank_.at(), false);
  if (!sharded()) groups = {{}, data_group(rank_.model(), rank_.at())};
  return {name, rank_.cost().embedding_parameters(), groups};
}

RankWriter::Ids ParameterExchange::gather(const std::string& what, const Unit& unit, const RankWriter::Ids& after) {
  return rank_.beside(what + ".parameter.all_gather", chakra::ALL_GATHER, unit.groups.shared,
                      rank_.cost().bytes_of(unit.part()), after);
}

void ParameterExchange::begin_step() {
  if (!sharded()) return;
  const TransformerModel& model = rank_.model();
  const bool first = has_input(model, rank_.at().stage), last = has_output(model, rank_.at().stage);
  if (first) rank_.follow(gather(embedding_unit("embedding"), rank_.last()));
  if (last && (!first || !model.tied_embeddings)) rank_.follow(gather(embedding_unit("logits"), rank_.last()));
  gather_until(1);
}

/// The parameters of passes up to `end`, where that has not been done; all begin when what has been written is done.
void ParameterExchange::gather_until(size_t end) {
  for (; begun_ < std::min(passes_.size(), end); ++begun_) {
    const LayerPass& pass = passes_[begun_];
    if (!pass.gathers) continue;
    const char* const direction = pass.step.pass == Pass::kForward ? "fwd" : "bwd";
    for (const Unit& unit : units(pass.layer)) {
      if (unit.groups.shared.size == 1) continue;
      const std::string what = fmt::format("mb{}.{}.{}", pass.step.micro_batch, unit.name, direction);
      const RankWriter::Ids done = gather(what, unit, rank_.last());
      gathered_[begun_].insert(gathered_[begun_].end(), done.begin(), done.end());
    }
  }
}

void ParameterExchange::enter_layer() {
  if (!sharded()) return;
  gather_until(next_ + 1 + (rank_.model().overlap ? rank_.model().prefetch : 0));
  rank_.wait_for(gathered_[next_++]);
}

void ParameterExchange::reduce(const Unit& unit, uint32_t micro_batch) {
  const TransformerModel& model = rank_.model();
  if (model.zero < 2 && !model.ends_accumulation(micro_batch)) return;
  const std::string name = (model.zero < 2 ? "" : fmt::format("mb{}.", micro_batch)) + unit.name + ".gradient";
  RankWriter::Ids done = rank_.computed();
  if (model.zero == 0) {
    done = rank_.beside(name + ".all_reduce", chakra::ALL_REDUCE, unit.groups.shared,
                        rank_.cost().bytes_of(unit.parameters), done);
  } else {
    const Bytes part = rank_.cost().bytes_of(unit.part());
    done = rank_.beside(name + ".reduce_scatter", chakra::REDUCE_SCATTER, unit.groups.shared,
                        Bytes(size_product({part.count, unit.groups.shared.size})), done);
    done = rank_.beside(name + ".part.all_reduce", chakra::ALL_REDUCE, unit.groups.kept, part, done);
  }
  add_gradients(done);
}

void ParameterExchange::add_gradients(const RankWriter::Ids& done) {
  if (done == rank_.computed()) return;
  gradients_.insert(gradients_.end(), done.begin(), done.end());
  if (!rank_.model().overlap) rank_.wait_for(done);
}

void ParameterExchange::expert_gradients(uint32_t layer, uint32_t micro_batch) {
  if (rank_.model().has_experts(layer)) reduce(expert_unit(layer), micro_batch);
}

void ParameterExchange::layer_gradients(uint32_t layer, uint32_t micro_batch) {
  reduce(layer_unit(layer), micro_batch);
}

void ParameterExchange::embedding_gradients(const std::string& name) {
  const Unit unit = embedding_unit(name);
  const TransformerCost& cost = rank_.cost();
  const Bytes part = cost.bytes_of(unit.part());
  RankWriter::Ids done = rank_.beside(name + ".gradient.reduce_scatter", chakra::REDUCE_SCATTER, unit.groups.shared,
                                      Bytes(size_product({part.count, unit.groups.shared.size})), rank_.computed());
  done = rank_.beside(name + (sharded() ? ".gradient.part.all_reduce" : ".gradient.all_reduce"), chakra::ALL_REDUCE,
                      unit.groups.kept, part, done);
  // The first stage has its gradient when the backward passes of all stages are over, so that none of them waits for
  // it.
  if (!rank_.model().overlap) rank_.wait_for(done);
  done = rank_.beside("embedding.tied_gradient.all_reduce", chakra::ALL_REDUCE,
                      embedding_group(rank_.model(), rank_.at()), part, done);
  if (done != rank_.computed()) gradients_.insert(gradients_.end(), done.begin(), done.end());
}

int64_t ParameterExchange::updated_parameters() const {
  const TransformerModel& model = rank_.model();
  int64_t parameters = 0;
  for (const uint32_t layer : own_layers()) {
    for (const Unit& unit : units(layer))
      parameters = size_sum({parameters, model.zero == 0 ? unit.parameters : unit.part()});
  }
  const bool first = has_input(model, rank_.at().stage), last = has_output(model, rank_.at().stage);
  const int64_t embeddings = model.tied_embeddings ? (first || last ? 1 : 0) : (first ? 1 : 0) + (last ? 1 : 0);
  return size_sum({parameters, size_product({embeddings, embedding_unit("embedding").part()})});
}

RankWriter::Ids ParameterExchange::update_parameters() {
  RankWriter::Ids ready = gradients_;
  ready.insert(ready.end(), rank_.last().begin(), rank_.last().end());
  sort_unique(ready);
  rank_.follow(ready);
  rank_.compute("optimizer.step", rank_.cost().optimizer(updated_parameters()));
  const RankWriter::Ids update = rank_.last();
  if (rank_.model().zero != 1 && rank_.model().zero != 2) return update;
  RankWriter::Ids left = update;
  for (const uint32_t layer : own_layers()) {
    for (const Unit& unit : units(layer)) {
      const RankWriter::Ids gathered = gather(unit, update);
      left.insert(left.end(), gathered.begin(), gathered.end());
    }
  }
  sort_unique(left);
  return left;
}

}  // namespace rankwire
