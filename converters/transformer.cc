#include "converters/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.h"
#include "converters/storage.h"
#include "converters/transformer_attention.h"
#include "converters/transformer_experts.h"
#include "converters/transformer_parameters.h"
#include "converters/transformer_state.h"

namespace rankwire {
namespace {

/// Writes one rank's steps.
class TrainingRank {
 public:
  TrainingRank(const TransformerModel& model, ExpertTraffic& traffic, const StorageTraffic& storage, uint32_t rank,
               const NodeFile& file)
      : model_(model),
        rank_(model, rank, file),
        steps_(pipeline_steps(model.pipeline, model.pipeline_parallel, rank_.at().stage, model.virtual_stages,
                              model.micro_batches)),
        mlp_(rank_, traffic),
        storage_(storage, rank, rank_.nodes()) {}

  uint64_t write() {
    rank_.follow(storage_.restore());
    for (; step_ < model_.steps; ++step_) write_step();
    return rank_.close();
  }

 private:
  void write_step() {
    rank_.begin(step_);
    take_samples();
    parameters_.emplace(rank_, steps_).begin_step();
    for (size_t i = 0; i < steps_.size();) {
      const size_t count = i + 1 < steps_.size() && steps_[i + 1].beside ? 2 : 1;
      write_beside(std::span(steps_).subspan(i, count));
      i += count;
    }
    rank_.follow(storage_.checkpoint(step_, parameters_->update_parameters()));
  }

  /// One shard reads for all.
  void take_samples() {
    if (!uses_samples(model_, rank_.at().stage)) return;
    TransformerPlace reader = rank_.at();
    reader.shard = 0;
    rank_.wait_for(storage_.samples(step_, rank_.last()));
    rank_.broadcast("samples.broadcast", tensor_group(model_, rank_.at()), rank_.peer(reader),
                    storage_.batch(rank_.peer(reader)));
  }

  /// Of all steps.
  uint32_t batch_number(const PipelineStep& step) const { return step_ * model_.micro_batches + step.micro_batch; }
  /// A part of a stage among all parts, in the order of the layers.
  uint32_t place(const PipelineStep& step) const { return place_of_part(model_, rank_.at().stage, step.part); }
  bool first(const PipelineStep& step) const { return place(step) == 0; }
  bool last(const PipelineStep& step) const {
    return place(step) + 1 == model_.pipeline_parallel * model_.virtual_stages;
  }
  /// Who has the part at `place` for those that go the way of the step.
  uint32_t peer(const PipelineStep& step, uint32_t place) const {
    TransformerPlace at = rank_.at();
    const bool from_behind = model_.goes_both_ways() && this->place(step) != at.stage;
    at.stage = from_behind ? model_.pipeline_parallel - 1 - place : place % model_.pipeline_parallel;
    return rank_.peer(at);
  }
  /// Of what the part at `place` sends, or of the gradients that come back to it.
  uint32_t tag(const PipelineStep& step, uint32_t place) const {
    return 2 * (step.micro_batch * model_.virtual_stages + place / model_.pipeline_parallel);
  }
  /// "mb0", or of a further part that it passes "mb0.part1".
  std::string name_of(const PipelineStep& step) const {
    return step.part == 0 || model_.goes_both_ways() ? fmt::format("mb{}", step.micro_batch)
                                                     : fmt::format("mb{}.part{}", step.micro_batch, step.part);
  }
  std::string layer_name(const PipelineStep& step, uint32_t layer) const {
    return fmt::format("mb{}.layer{}", step.micro_batch, layer);
  }
  Bytes activations() const { return rank_.cost().activations(rank_.cost().resident_tokens()); }

  /// The layers of steps that run beside each other stand by turns, so that their collectives can follow each other.
  void write_beside(std::span<const PipelineStep> steps) {
    std::vector<RankWriter::Ids> ends(steps.size(), rank_.last());
    const auto each = [&](const auto& act) {
      for (size_t i = 0; i < steps.size(); ++i) {
        rank_.follow(ends[i]);
        act(steps[i]);
        ends[i] = rank_.last();
      }
    };
    each([&](const PipelineStep& step) { begin_pass(step); });
    uint32_t most = 0;
    for (const PipelineStep& step : steps) most = std::max(most, layers(step).count);
    for (uint32_t k = 0; k < most; ++k) {
      each([&](const PipelineStep& step) {
        if (k < layers(step).count) pass_layer(step, k);
      });
    }
    each([&](const PipelineStep& step) { end_pass(step); });
    for (const RankWriter::Ids& end : ends) rank_.wait_for(end);
  }

  LayerRange layers(const PipelineStep& step) const { return layers_of(model_, rank_.at().stage, step.part); }

  void receive(const std::string& name, const PipelineStep& step, uint32_t from, uint32_t tag) {
    rank_.follow({rank_.receive(name, peer(step, from), tag, activations(), rank_.last())});
  }
  void send(const std::string& name, const PipelineStep& step, uint32_t to, uint32_t tag) {
    rank_.send(name, peer(step, to), tag, activations(), rank_.last());
  }

  void begin_pass(const PipelineStep& step) {
    if (step.pass != Pass::kForward) return begin_backward(step);
    if (first(step)) {
      const std::string name = name_of(step) + ".embedding.fwd";
      rank_.compute(name, rank_.cost().embedding());
      rank_.leave_block(name);
    } else {
      receive(name_of(step) + ".activation.receive", step, place(step) - 1, tag(step, place(step) - 1));
    }
  }

  /// The k-th one on the way of the step.
  void pass_layer(const PipelineStep& step, uint32_t k) {
    const LayerRange range = layers(step);
    if (step.pass != Pass::kForward) return layer_backward(step, range.first + range.count - 1 - k);
    const std::string name = layer_name(step, range.first + k);
    parameters_->enter_layer();
    attention_forward(rank_, name);
    mlp_.forward(name, range.first + k, batch_number(step));
  }

  void end_pass(const PipelineStep& step) {
    if (step.pass != Pass::kForward) return end_backward(step);
    if (last(step)) {
      const std::string name = name_of(step) + ".logits.fwd";
      rank_.enter_block(name);
      rank_.compute(name, rank_.cost().logits());
    } else {
      send(name_of(step) + ".activation.send", step, place(step) + 1, tag(step, place(step)));
    }
  }

  void begin_backward(const PipelineStep& step) {
    if (last(step)) {
      logits_backward(step);
    } else if (step.pass != Pass::kWeight) {
      receive(name_of(step) + ".gradient.receive", step, place(step) + 1, tag(step, place(step)) + 1);
    }
  }

  void end_backward(const PipelineStep& step) {
    if (first(step)) {
      if (step.pass != Pass::kInput) embedding_backward(step);
    } else if (step.pass != Pass::kWeight) {
      send(name_of(step) + ".gradient.send", step, place(step) - 1, tag(step, place(step) - 1) + 1);
    }
  }

  void layer_backward(const PipelineStep& step, uint32_t layer) {
    const std::string name = layer_name(step, layer);
    const bool gradients = step.pass != Pass::kInput;
    if (step.pass != Pass::kWeight) parameters_->enter_layer();
    mlp_.backward(name, layer, batch_number(step), step.pass);
    if (gradients) parameters_->expert_gradients(layer, step.micro_batch);
    attention_backward(rank_, name, step.pass);
    if (gradients) parameters_->layer_gradients(layer, step.micro_batch);
  }

  /// Of the logits all ranks have the gradient that they need, since the loss is summed over the shards of the
  /// vocabulary.
  void logits_backward(const PipelineStep& step) {
    const std::string name = name_of(step) + ".logits" + backward_name(step.pass);
    const RankWriter::Ids again = step.pass == Pass::kInput ? RankWriter::Ids() : rank_.input_again(name);
    rank_.compute(name, backward_work(step.pass, rank_.cost().logits()));
    // Where a stage has both, the same weights are used by the embedding, whose gradient comes last.
    if (step.pass != Pass::kInput && gradients_final(step) && !shares_embedding_in_stage())
      parameters_->embedding_gradients(model_.tied_embeddings ? "embedding" : "logits");
    if (step.pass != Pass::kWeight) rank_.leave_block(name);
    rank_.wait_for(again);
  }

  void embedding_backward(const PipelineStep& step) {
    const std::string name = name_of(step) + ".embedding.bwd";
    rank_.enter_block(name);
    rank_.compute(name, backward(rank_.cost().embedding()));
    if (gradients_final(step)) parameters_->embedding_gradients("embedding");
  }

  bool gradients_final(const PipelineStep& step) const { return model_.ends_accumulation(step.micro_batch); }
  bool shares_embedding_in_stage() const {
    return model_.tied_embeddings && has_input(model_, rank_.at().stage) && has_output(model_, rank_.at().stage);
  }

  const TransformerModel& model_;
  RankWriter rank_;
  const std::vector<PipelineStep> steps_;
  MlpWriter mlp_;
  StorageClient storage_;
  uint32_t step_ = 0;
  std::optional<ParameterExchange> parameters_;  ///< of the step
};

}  // namespace

uint32_t transformer_ranks(const TransformerModel& model) {
  if (const auto wrong = wrong_transformer(model)) fail_input("transformer: {} {}", wrong->key, wrong->text);
  return checked_ranks("transformer",
                       {model.tensor_parallel, model.pipeline_parallel, model.data_parallel, model.context_parallel});
}

GeneratedTraces generate_transformer(const TransformerModel& model, const NodeFiles& set) {
  GeneratedTraces traces{transformer_ranks(model), 0};
  ExpertTraffic traffic(model);
  const StorageTraffic storage = transformer_storage(model);
  for (uint32_t rank = 0; rank < storage.trainers; ++rank)
    traces.nodes += TrainingRank(model, traffic, storage, rank, set.file(rank)).write();
  traces.nodes += write_storage_ranks(storage, set);
  traces.ranks += model.storage.ranks;
  write_group_file(transformer_groups(model), set);
  return traces;
}

}  // namespace rankwire
