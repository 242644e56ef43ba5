#include "converters/mlp.h"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

#include "converters/model_sizes.h"
#include "converters/node_writer.h"
#include "converters/storage.h"

namespace rankwire {
namespace {

struct MlpPosition {
  uint32_t shard, replica;
};

MlpPosition position_of(const MlpModel& model, uint32_t rank) {
  if (model.order == MlpModel::Order::kDataModel) return {rank % model.model_parallel, rank / model.model_parallel};
  return {rank / model.data_parallel, rank % model.data_parallel};
}

uint32_t rank_of(const MlpModel& model, const MlpPosition& at) {
  if (model.order == MlpModel::Order::kDataModel) return at.replica * model.model_parallel + at.shard;
  return at.shard * model.data_parallel + at.replica;
}

int64_t parameters_of_shard(const MlpModel& model) {
  return size_product({model.width, model.width / model.model_parallel});
}

/// Replicas keep a shard's parameters alike; the first shard reads the samples of its replica.
StorageTraffic mlp_storage(const MlpModel& model) {
  const auto state = [model](uint32_t rank) {
    MlpPosition first = position_of(model, rank);
    first.replica = 0;
    SharedState weights{.number = 0,
                        .parameters = size_product({model.layers, parameters_of_shard(model)}),
                        .bytes = model.element.count,
                        .first = rank_of(model, first),
                        .stride = rank_of(model, {0, 1}),
                        .holders = model.data_parallel};
    SharedState optimizer = weights;
    optimizer.number = 1, optimizer.bytes = model.storage.optimizer_bytes;
    return std::vector{weights, optimizer};
  };
  const uint32_t ranks = mlp_ranks(model);
  const Bytes batch(size_product({model.batch, model.storage.sample.count}));
  std::vector<Bytes> samples;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    samples.push_back(position_of(model, rank).shard == 0 ? batch : Bytes(0));
  return StorageTraffic::of_shared(model.storage, ranks, model.steps, std::move(samples), state);
}

/// One rank's steps: computations depend on the one before (`last_`) and on the activations or gradients that they
/// need.
class MlpRank {
 public:
  MlpRank(const MlpModel& model, const StorageTraffic& storage, uint32_t rank, const NodeFile& file)
      : model_(model), at_(position_of(model, rank)), nodes_(file), storage_(storage, rank, nodes_) {}

  uint64_t write() {
    last_ = storage_.restore();
    for (uint32_t step = 0; step < model_.steps; ++step) write_step(step);
    return nodes_.close();
  }

 private:
  using Id = NodeWriter::Id;

  void write_step(uint32_t step) {
    step_ = step_prefix(model_.steps, step);
    take_samples(step);
    for (uint32_t layer = 0; layer < model_.layers; ++layer) forward(layer);
    for (uint32_t layer = model_.layers; layer-- > 0;) backward(layer);
    last_ = storage_.checkpoint(step, {update()});
  }

  /// One shard reads for all of its replica.
  void take_samples(uint32_t step) {
    if (model_.storage.sample.count == 0) return;
    const std::vector<Id> samples = storage_.samples(step, last_);
    last_.insert(last_.end(), samples.begin(), samples.end());
    if (model_.model_parallel == 1) return;
    const uint32_t reader = rank_of(model_, {0, at_.replica});
    nodes_.with("root", int64_t{reader});
    last_ = {collective("samples.broadcast", chakra::BROADCAST, model_group(), storage_.batch(reader), last_)};
  }

  Id collective(const std::string& name, chakra::CollectiveCommType kind, const std::string& group, Bytes size,
                std::span<const Id> ready) {
    return nodes_.collective(step_ + name, kind, group, size, ready);
  }

  int64_t columns() const { return model_.width / model_.model_parallel; }
  int64_t parameters() const { return parameters_of_shard(model_); }
  Bytes bytes(int64_t elements) const { return Bytes(size_product({elements, model_.element.count})); }
  std::string model_group() const { return fmt::format("mp_{}", at_.replica); }
  std::string data_group() const { return fmt::format("dp_{}", at_.shard); }

  /// One multiplication of b x h by h x h / m, or a transpose of it.
  Id multiply(const std::string& name, std::vector<Id> ready) {
    const int64_t flops = size_product({2, model_.batch, parameters()});
    const int64_t elements =
        size_sum({parameters(), size_product({model_.batch, size_sum({model_.width, columns()})})});
    return nodes_.compute(step_ + name, micros_at_peak(flops, model_.peak_flops), flops, bytes(elements), ready);
  }

  void forward(uint32_t layer) {
    last_ = {multiply(fmt::format("layer{}.fwd", layer), last_)};
    if (model_.model_parallel == 1) return;
    last_ = {collective(fmt::format("layer{}.output.all_gather", layer), chakra::ALL_GATHER, model_group(),
                        bytes(size_product({model_.batch, columns()})), last_)};
  }

  void backward(uint32_t layer) {
    std::vector<Id> next;
    if (layer > 0) {
      last_ = {multiply(fmt::format("layer{}.input.bwd", layer), last_)};
      if (model_.model_parallel > 1) {
        next = {collective(fmt::format("layer{}.input_gradient.reduce_scatter", layer), chakra::REDUCE_SCATTER,
                           model_group(), bytes(size_product({model_.batch, model_.width})), last_)};
      }
    }
    const Id weights = multiply(fmt::format("layer{}.weight.bwd", layer), last_);
    if (model_.data_parallel > 1) {
      gradients_.push_back(collective(fmt::format("layer{}.gradient.all_reduce", layer), chakra::ALL_REDUCE,
                                      data_group(), bytes(parameters()), {&weights, 1}));
    }
    next.push_back(weights);
    last_ = std::move(next);
  }

  /// Plain stochastic gradient descent: two operations a parameter, which is read with its gradient and written.
  Id update() {
    std::vector<Id> ready = std::exchange(gradients_, {});
    ready.insert(ready.end(), last_.begin(), last_.end());
    const int64_t all = size_product({model_.layers, parameters()});
    const int64_t flops = size_product({2, all});
    return nodes_.compute(step_ + "optimizer.step", micros_at_peak(flops, model_.peak_flops), flops,
                          bytes(size_product({3, all})), ready);
  }

  const MlpModel& model_;
  const MlpPosition at_;
  NodeWriter nodes_;
  StorageClient storage_;
  std::string step_;           ///< what names begin with
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
                          {"steps", model.steps},
                          {"peak", model.peak_flops}});
  check_multiple(kModel, "width", model.width, "model_parallel", model.model_parallel);
  return checked_ranks(kModel, {model.model_parallel, model.data_parallel});
}

GeneratedTraces generate_mlp(const MlpModel& model, const NodeFiles& set) {
  GeneratedTraces traces{mlp_ranks(model) + model.storage.ranks, 0};
  const StorageTraffic storage = mlp_storage(model);
  GroupMembers groups;
  for (uint32_t rank = 0; rank < storage.trainers; ++rank) {
    traces.nodes += MlpRank(model, storage, rank, set.file(rank)).write();
    const MlpPosition at = position_of(model, rank);
    if (model.model_parallel > 1) groups[fmt::format("mp_{}", at.replica)].push_back(rank);
    if (model.data_parallel > 1) groups[fmt::format("dp_{}", at.shard)].push_back(rank);
  }
  traces.nodes += write_storage_ranks(storage, set);
  write_group_file(groups, set);
  return traces;
}

}  // namespace rankwire
