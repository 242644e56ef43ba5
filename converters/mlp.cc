#include "converters/mlp.h"

#include <fmt/format.h>

#include <vector>

#include "converters/model_sizes.h"
#include "converters/node_writer.h"

namespace rankwire {
namespace {

struct MlpPosition {
  uint32_t shard, replica;
};

MlpPosition position_of(const MlpModel& model, uint32_t rank) {
  if (model.order == MlpModel::Order::kDataModel) return {rank % model.model_parallel, rank / model.model_parallel};
  return {rank / model.data_parallel, rank % model.data_parallel};
}

/// One rank's step: computations depend on the one before (`last_`) and on the activations or gradients that they need.
class MlpStep {
 public:
  MlpStep(const MlpModel& model, uint32_t rank, const std::string& file)
      : model_(model), at_(position_of(model, rank)), nodes_(file) {}

  uint64_t write() {
    for (uint32_t layer = 0; layer < model_.layers; ++layer) forward(layer);
    for (uint32_t layer = model_.layers; layer-- > 0;) backward(layer);
    update();
    nodes_.close();
    return nodes_.counts().nodes;
  }

 private:
  using Id = NodeWriter::Id;

  int64_t columns() const { return model_.width / model_.model_parallel; }
  int64_t parameters() const { return size_product({model_.width, columns()}); }
  Bytes bytes(int64_t elements) const { return Bytes(size_product({elements, model_.element.count})); }
  std::string model_group() const { return fmt::format("mp_{}", at_.replica); }
  std::string data_group() const { return fmt::format("dp_{}", at_.shard); }

  /// One multiplication of b x h by h x h / m, or a transpose of it.
  Id multiply(const std::string& name, std::vector<Id> ready) {
    const int64_t flops = size_product({2, model_.batch, parameters()});
    const int64_t elements =
        size_sum({parameters(), size_product({model_.batch, size_sum({model_.width, columns()})})});
    return nodes_.compute(name, micros_at_peak(flops, model_.peak_flops), flops, bytes(elements), ready);
  }

  void forward(uint32_t layer) {
    last_ = {multiply(fmt::format("layer{}.fwd", layer), last_)};
    if (model_.model_parallel == 1) return;
    last_ = {nodes_.collective(fmt::format("layer{}.output.all_gather", layer), chakra::ALL_GATHER, model_group(),
                               bytes(size_product({model_.batch, columns()})), last_)};
  }

  void backward(uint32_t layer) {
    std::vector<Id> next;
    if (layer > 0) {
      last_ = {multiply(fmt::format("layer{}.input.bwd", layer), last_)};
      if (model_.model_parallel > 1) {
        next = {nodes_.collective(fmt::format("layer{}.input_gradient.reduce_scatter", layer), chakra::REDUCE_SCATTER,
                                  model_group(), bytes(size_product({model_.batch, model_.width})), last_)};
      }
    }
    const Id weights = multiply(fmt::format("layer{}.weight.bwd", layer), last_);
    if (model_.data_parallel > 1) {
      gradients_.push_back(nodes_.collective(fmt::format("layer{}.gradient.all_reduce", layer), chakra::ALL_REDUCE,
                                             data_group(), bytes(parameters()), {&weights, 1}));
    }
    next.push_back(weights);
    last_ = std::move(next);
  }

  /// Plain stochastic gradient descent: two operations a parameter, which is read with its gradient and written.
  void update() {
    std::vector<Id> ready = gradients_;
    ready.insert(ready.end(), last_.begin(), last_.end());
    const int64_t all = size_product({model_.layers, parameters()});
    const int64_t flops = size_product({2, all});
    nodes_.compute("optimizer.step", micros_at_peak(flops, model_.peak_flops), flops, bytes(size_product({3, all})),
                   ready);
  }

  const MlpModel& model_;
  const MlpPosition at_;
  NodeWriter nodes_;
  std::vector<Id> last_;       ///< what the next computation waits for
  std::vector<Id> gradients_;  ///< reductions that the optimizer waits for
};

}  // namespace

uint32_t mlp_ranks(const MlpModel& model) {
  constexpr const char* kModel = "mlp";
  check_positive(kModel, {{"layers", model.layers},
                          {"width", model.width},
                          {"batch", model.batch},
                          {"element", model.element.count},
                          {"model_parallel", model.model_parallel},
                          {"data_parallel", model.data_parallel},
                          {"peak", model.peak_flops}});
  check_multiple(kModel, "width", model.width, "model_parallel", model.model_parallel);
  return checked_ranks(kModel, {model.model_parallel, model.data_parallel});
}

GeneratedTraces generate_mlp(const MlpModel& model, const std::string& prefix) {
  GeneratedTraces traces{mlp_ranks(model), 0};
  GroupMembers groups;
  for (uint32_t rank = 0; rank < traces.ranks; ++rank) {
    traces.nodes += MlpStep(model, rank, trace_file(prefix, rank)).write();
    const MlpPosition at = position_of(model, rank);
    if (model.model_parallel > 1) groups[fmt::format("mp_{}", at.replica)].push_back(rank);
    if (model.data_parallel > 1) groups[fmt::format("dp_{}", at.shard)].push_back(rank);
  }
  write_group_file(groups, prefix);
  return traces;
}

}  // namespace rankwire
