#include "converters/transformer.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "base/error.h"
#include "converters/model_sizes.h"
#include "converters/node_writer.h"
#include "converters/pipeline_schedule.h"
#include "converters/transformer_cost.h"

namespace rankwire {
namespace {

/// Where a rank stands in the three dimensions.
struct Position {
  uint32_t shard, replica, stage;
};

uint32_t rank_of(const TransformerModel& model, Position at) {
  if (model.order == TransformerModel::Order::kDataTensor)
    return (at.stage * model.tensor_parallel + at.shard) * model.data_parallel + at.replica;
  return (at.stage * model.data_parallel + at.replica) * model.tensor_parallel + at.shard;
}

Position position_of(const TransformerModel& model, uint32_t rank) {
  const uint32_t stage = rank / model.tensor_parallel / model.data_parallel;
  if (model.order == TransformerModel::Order::kDataTensor)
    return {rank / model.data_parallel % model.tensor_parallel, rank % model.data_parallel, stage};
  return {rank % model.tensor_parallel, rank / model.tensor_parallel % model.data_parallel, stage};
}

std::string tensor_group(const TransformerModel& model, Position at) {
  return fmt::format("tp_{}", at.stage * model.data_parallel + at.replica);
}
std::string data_group(const TransformerModel& model, Position at) {
  return fmt::format("dp_{}", at.stage * model.tensor_parallel + at.shard);
}
std::string embedding_group(const TransformerModel& model, Position at) {
  return fmt::format("embedding_{}", at.replica * model.tensor_parallel + at.shard);
}

/// Of the replicas that share the experts of a layer.
std::string expert_group(const TransformerModel& model, Position at) {
  const uint32_t groups = model.data_parallel / model.expert_parallel;
  return fmt::format("ep_{}",
                     (at.stage * groups + at.replica / model.expert_parallel) * model.tensor_parallel + at.shard);
}
/// Of the replicas that have the same experts.
std::string expert_data_group(const TransformerModel& model, Position at) {
  return fmt::format(
      "edp_{}",
      (at.stage * model.expert_parallel + at.replica % model.expert_parallel) * model.tensor_parallel + at.shard);
}

/// Writes one rank's step. Every node that keeps the accelerator busy, and every transfer that it must wait for,
/// depends on the one before (`last_`); sends and gradient reductions run beside them.
class TrainingStep {
 public:
  TrainingStep(const TransformerModel& model, uint32_t rank, const std::string& file)
      : model_(model), cost_(model), at_(position_of(model, rank)), rank_(rank), nodes_(file) {}

  uint64_t write() {
    for (const PipelineStep& step :
         one_forward_one_backward(model_.pipeline_parallel, at_.stage, model_.micro_batches)) {
      if (step.pass == Pass::kForward) {
        forward_pass(step.micro_batch);
      } else {
        backward_pass(step.micro_batch);
      }
    }
    update_parameters();
    nodes_.close();
    return nodes_.counts().nodes;
  }

 private:
  using Id = NodeWriter::Id;

  bool first_stage() const { return at_.stage == 0; }
  bool last_stage() const { return at_.stage + 1 == model_.pipeline_parallel; }
  uint32_t stage_layers() const { return model_.layers / model_.pipeline_parallel; }
  uint32_t first_layer() const { return at_.stage * stage_layers(); }
  uint32_t peer(uint32_t stage) const { return rank_of(model_, {at_.shard, at_.replica, stage}); }
  static uint32_t activation_tag(uint32_t micro_batch) { return 2 * micro_batch; }
  static uint32_t gradient_tag(uint32_t micro_batch) { return 2 * micro_batch + 1; }

  void forward_pass(uint32_t m) {
    if (first_stage()) {
      compute(fmt::format("mb{}.embedding.fwd", m), cost_.embedding());
      reduce_over_tensor(fmt::format("mb{}.embedding.fwd.all_reduce", m));
    } else {
      const std::string name = fmt::format("mb{}.activation.receive", m);
      last_ = {nodes_.receive(name, peer(at_.stage - 1), rank_, activation_tag(m), cost_.activations(), last_)};
    }
    for (uint32_t i = 0; i < stage_layers(); ++i) {
      const std::string layer = fmt::format("mb{}.layer{}", m, first_layer() + i);
      compute(layer + ".attention.fwd", cost_.attention());
      reduce_over_tensor(layer + ".attention.fwd.all_reduce");
      mlp_forward(layer);
      reduce_over_tensor(layer + ".mlp.fwd.all_reduce");
    }
    if (last_stage()) {
      compute(fmt::format("mb{}.logits.fwd", m), cost_.logits());
    } else {
      const std::string name = fmt::format("mb{}.activation.send", m);
      nodes_.send(name, rank_, peer(at_.stage + 1), activation_tag(m), cost_.activations(), last_);
    }
  }

  void backward_pass(uint32_t m) {
    const bool gradients_final = m + 1 == model_.micro_batches;
    if (last_stage()) {
      compute(fmt::format("mb{}.logits.bwd", m), backward(cost_.logits()));
      // With one stage the same weights are used by the embedding, whose gradient comes last.
      if (gradients_final && !first_stage()) reduce_embedding();
      reduce_over_tensor(fmt::format("mb{}.logits.bwd.all_reduce", m));
    } else {
      const std::string name = fmt::format("mb{}.gradient.receive", m);
      last_ = {nodes_.receive(name, peer(at_.stage + 1), rank_, gradient_tag(m), cost_.activations(), last_)};
    }
    for (uint32_t i = stage_layers(); i-- > 0;) {
      const std::string layer = fmt::format("mb{}.layer{}", m, first_layer() + i);
      mlp_backward(layer);
      if (gradients_final || model_.zero == 2) scatter_experts(m, first_layer() + i);
      reduce_over_tensor(layer + ".mlp.bwd.all_reduce");
      compute(layer + ".attention.bwd", backward(cost_.attention()));
      if (gradients_final || model_.zero == 2) scatter_gradients(m, first_layer() + i);
      reduce_over_tensor(layer + ".attention.bwd.all_reduce");
    }
    if (first_stage()) {
      compute(fmt::format("mb{}.embedding.bwd", m), backward(cost_.embedding()));
      if (gradients_final) reduce_embedding();
    } else {
      const std::string name = fmt::format("mb{}.gradient.send", m);
      nodes_.send(name, rank_, peer(at_.stage - 1), gradient_tag(m), cost_.activations(), last_);
    }
  }

  void mlp_forward(const std::string& layer) {
    if (model_.experts > 1) {
      compute(layer + ".router.fwd", cost_.router());
      exchange_tokens(layer + ".dispatch.fwd.all_to_all");
    }
    compute(layer + ".mlp.fwd", cost_.mlp());
    if (model_.experts > 1) exchange_tokens(layer + ".combine.fwd.all_to_all");
  }

  /// The gradients go the same ways back.
  void mlp_backward(const std::string& layer) {
    if (model_.experts > 1) exchange_tokens(layer + ".combine.bwd.all_to_all");
    compute(layer + ".mlp.bwd", backward(cost_.mlp()));
    if (model_.experts == 1) return;
    exchange_tokens(layer + ".dispatch.bwd.all_to_all");
    compute(layer + ".router.bwd", backward(cost_.router()));
  }

  void exchange_tokens(const std::string& name) {
    if (model_.expert_parallel == 1) return;
    last_ = {nodes_.collective(name, chakra::ALL_TO_ALL, expert_group(model_, at_), cost_.dispatched(), last_)};
  }

  uint32_t expert_replicas() const { return model_.experts > 1 ? model_.data_parallel / model_.expert_parallel : 1; }

  void update_parameters() {
    std::vector<Id> ready = gradients_;
    ready.insert(ready.end(), last_.begin(), last_.end());
    const int64_t embedding = first_stage() || last_stage() ? cost_.embedding_parameters() : 0;
    const Work work = cost_.optimizer(
        stage_layers() * (cost_.layer_shard() + (model_.experts > 1 ? cost_.expert_shard() : 0)) + embedding);
    const Id update = nodes_.compute("optimizer.step", cost_.duration_micros(work), work.flops, work.memory, ready);
    if (model_.data_parallel == 1) return;
    for (uint32_t i = 0; i < stage_layers(); ++i) {
      nodes_.collective(fmt::format("layer{}.parameter.all_gather", first_layer() + i), chakra::ALL_GATHER,
                        data_group(model_, at_), cost_.bytes_of(cost_.layer_shard()), {&update, 1});
      if (expert_replicas() == 1) continue;
      nodes_.collective(fmt::format("layer{}.experts.parameter.all_gather", first_layer() + i), chakra::ALL_GATHER,
                        expert_data_group(model_, at_), cost_.bytes_of(cost_.expert_shard()), {&update, 1});
    }
  }

  void compute(const std::string& name, const Work& work) {
    last_ = {nodes_.compute(name, cost_.duration_micros(work), work.flops, work.memory, last_)};
  }

  void reduce_over_tensor(const std::string& name) {
    if (model_.tensor_parallel == 1) return;
    last_ = {nodes_.collective(name, chakra::ALL_REDUCE, tensor_group(model_, at_), cost_.activations(), last_)};
  }

  /// "layer3", or "mb1.layer3" where every micro-batch has gradients of its own.
  std::string gradient_name(uint32_t m, uint32_t layer) const {
    return model_.zero == 2 ? fmt::format("mb{}.layer{}", m, layer) : fmt::format("layer{}", layer);
  }

  void scatter_gradients(uint32_t m, uint32_t layer) {
    if (model_.data_parallel == 1) return;
    const Bytes padded = cost_.bytes_of(size_product({cost_.layer_shard(), model_.data_parallel}));
    gradients_.push_back(nodes_.collective(gradient_name(m, layer) + ".gradient.reduce_scatter", chakra::REDUCE_SCATTER,
                                           data_group(model_, at_), padded, last_));
  }

  void scatter_experts(uint32_t m, uint32_t layer) {
    if (expert_replicas() == 1) return;
    const Bytes padded = cost_.bytes_of(size_product({cost_.expert_shard(), expert_replicas()}));
    gradients_.push_back(nodes_.collective(gradient_name(m, layer) + ".experts.gradient.reduce_scatter",
                                           chakra::REDUCE_SCATTER, expert_data_group(model_, at_), padded, last_));
  }

  void reduce_embedding() {
    std::vector<Id> ready = last_;
    const Bytes size = cost_.bytes_of(cost_.embedding_parameters());
    if (model_.data_parallel > 1) {
      ready = {
          nodes_.collective("embedding.gradient.all_reduce", chakra::ALL_REDUCE, data_group(model_, at_), size, ready)};
    }
    if (model_.pipeline_parallel > 1) {
      ready = {nodes_.collective("embedding.tied_gradient.all_reduce", chakra::ALL_REDUCE, embedding_group(model_, at_),
                                 size, ready)};
    }
    if (ready != last_) gradients_.push_back(ready.front());
  }

  const TransformerModel& model_;
  const TransformerCost cost_;
  const Position at_;
  const uint32_t rank_;
  NodeWriter nodes_;
  std::vector<Id> last_;       ///< at most one
  std::vector<Id> gradients_;  ///< reductions that the optimizer waits for
};

void write_groups(const TransformerModel& model, uint32_t ranks, const std::string& prefix) {
  GroupMembers groups;
  const bool embedding_is_shared = model.pipeline_parallel > 1;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const Position at = position_of(model, rank);
    if (model.tensor_parallel > 1) groups[tensor_group(model, at)].push_back(rank);
    if (model.data_parallel > 1) groups[data_group(model, at)].push_back(rank);
    if (model.expert_parallel > 1) groups[expert_group(model, at)].push_back(rank);
    if (model.experts > 1 && model.data_parallel > model.expert_parallel)
      groups[expert_data_group(model, at)].push_back(rank);
    const bool has_embedding = at.stage == 0 || at.stage + 1 == model.pipeline_parallel;
    if (embedding_is_shared && has_embedding) groups[embedding_group(model, at)].push_back(rank);
  }
  write_group_file(groups, prefix);
}

constexpr const char* kGenerator = "transformer";

void check_experts(const TransformerModel& model) {
  check_positive(kGenerator, {{"experts", model.experts},
                              {"experts_per_token", model.experts_per_token},
                              {"expert_parallel", model.expert_parallel}});
  check_multiple(kGenerator, "experts", model.experts, "expert_parallel", model.expert_parallel);
  check_multiple(kGenerator, "data_parallel", model.data_parallel, "expert_parallel", model.expert_parallel);
  if (model.experts_per_token > model.experts)
    fail_input("{}: experts_per_token {} is above experts {}", kGenerator, model.experts_per_token, model.experts);
}

}  // namespace

uint32_t transformer_ranks(const TransformerModel& model) {
  check_positive(kGenerator, {{"layers", model.layers},
                              {"hidden", model.hidden},
                              {"sequence", model.sequence},
                              {"vocabulary", model.vocabulary},
                              {"micro_batches", model.micro_batches},
                              {"micro_batch_size", model.micro_batch_size},
                              {"element", model.element.count},
                              {"tensor_parallel", model.tensor_parallel},
                              {"pipeline_parallel", model.pipeline_parallel},
                              {"data_parallel", model.data_parallel},
                              {"peak", model.peak_flops}});
  check_multiple(kGenerator, "hidden", model.hidden, "tensor_parallel", model.tensor_parallel);
  check_multiple(kGenerator, "ffn", model.ffn, "tensor_parallel", model.tensor_parallel);
  check_multiple(kGenerator, "key_value", model.key_value, "tensor_parallel", model.tensor_parallel);
  check_multiple(kGenerator, "layers", model.layers, "pipeline_parallel", model.pipeline_parallel);
  if (model.zero != 1 && model.zero != 2) fail_input("{}: zero is {}, stages are 1 and 2", kGenerator, model.zero);
  check_experts(model);
  return checked_ranks(kGenerator, {model.tensor_parallel, model.pipeline_parallel, model.data_parallel});
}

GeneratedTraces generate_transformer(const TransformerModel& model, const std::string& prefix) {
  GeneratedTraces traces{transformer_ranks(model), 0};
  for (uint32_t rank = 0; rank < traces.ranks; ++rank) {
    traces.nodes += TrainingStep(model, rank, trace_file(prefix, rank)).write();
  }
  write_groups(model, traces.ranks, prefix);
  return traces;
}

}  // namespace rankwire
