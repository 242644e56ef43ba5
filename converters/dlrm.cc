#include "converters/dlrm.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "converters/model_sizes.h"
#include "converters/node_writer.h"
#include "converters/storage.h"

namespace rankwire {
namespace {

constexpr const char* kGroup = "all";

/// A layer of one of the MLPs.
struct DlrmLayer {
  std::string name;
  int64_t inputs = 0, outputs = 0;

  int64_t parameters() const { return size_product({inputs, outputs}); }
};

std::vector<DlrmLayer> layers_of(const char* name, int64_t inputs, const std::vector<int64_t>& outputs) {
  std::vector<DlrmLayer> layers;
  for (const int64_t width : outputs) {
    layers.push_back({fmt::format("{}{}", name, layers.size()), inputs, width});
    inputs = width;
  }
  return layers;
}

int64_t pairs_of(int64_t tables) {
  return size_product({tables, tables + 1}) / 2;
}

struct DlrmLayers {
  explicit DlrmLayers(const DlrmModel& model)
      : bottom(layers_of("bottom", model.dense, model.bottom)),
        top(layers_of("top", size_sum({model.embedding, pairs_of(model.tables)}), model.top)) {}

  int64_t parameters() const {
    int64_t sum = 0;
    for (const std::vector<DlrmLayer>* layers : {&bottom, &top})
      for (const DlrmLayer& layer : *layers) sum = size_sum({sum, layer.parameters()});
    return sum;
  }

  std::vector<DlrmLayer> bottom, top;
};

/// All ranks keep the MLPs alike, and each its tables, which have no optimizer state. Each reads its own samples.
StorageTraffic dlrm_storage(const DlrmModel& model) {
  const uint32_t ranks = dlrm_ranks(model);
  const SharedState weights{
      .number = 0, .parameters = DlrmLayers(model).parameters(), .bytes = model.element.count, .holders = model.ranks};
  SharedState optimizer = weights;
  optimizer.number = 1, optimizer.bytes = model.storage.optimizer_bytes;
  const int64_t rows = size_product({model.tables / model.ranks, model.rows, model.embedding});
  const auto state = [=, element = model.element.count](uint32_t rank) {
    return std::vector{weights, optimizer,
                       SharedState{.number = 2, .parameters = rows, .bytes = element, .first = rank}};
  };
  const Bytes batch(size_product({model.batch, model.storage.sample.count}));
  return StorageTraffic::of_shared(model.storage, ranks, model.steps, std::vector<Bytes>(ranks, batch), state);
}

/// One rank's steps; all ranks have the same but for storage. Computations depend on the one before (`last_`).
class DlrmRank {
 public:
  DlrmRank(const DlrmModel& model, const StorageTraffic& storage, uint32_t rank, const NodeFile& file)
      : model_(model), layers_(model), nodes_(file), storage_(storage, rank, nodes_) {}

  uint64_t write() {
    last_ = storage_.restore();
    for (uint32_t step = 0; step < model_.steps; ++step) write_step(step);
    return nodes_.close();
  }

 private:
  using Id = NodeWriter::Id;
  struct Work {
    int64_t flops = 0, elements = 0;  ///< elements that go to or from memory
  };

  void write_step(uint32_t step) {
    step_ = step_prefix(model_.steps, step);
    const std::vector<Id> samples = storage_.samples(step, last_);
    last_.insert(last_.end(), samples.begin(), samples.end());
    look_up();
    const Id vectors = exchange("embedding.all_to_all");
    for (const DlrmLayer& layer : layers_.bottom) compute(layer.name + ".fwd", work_of(layer));
    last_.push_back(vectors);
    compute("interaction.fwd", interaction());
    for (const DlrmLayer& layer : layers_.top) compute(layer.name + ".fwd", work_of(layer));

    backward(layers_.top);
    compute("interaction.bwd", twice(interaction()));
    const Id gradients = exchange("embedding.gradient.all_to_all");
    backward(layers_.bottom);
    last_.push_back(gradients);
    compute("embedding.update", lookup_work());
    update();
    last_ = storage_.checkpoint(step, last_);
  }

  static Work twice(const Work& work) { return {size_product({2, work.flops}), size_product({2, work.elements})}; }

  Work work_of(const DlrmLayer& layer) const {
    return {size_product({2, model_.batch, layer.parameters()}),
            size_sum({layer.parameters(), size_product({model_.batch, size_sum({layer.inputs, layer.outputs})})})};
  }
  /// The dot product of each pair: 2 d operations.
  Work interaction() const {
    return {size_product({2, model_.batch, model_.embedding, pairs_of(model_.tables)}),
            size_product({model_.batch,
                          size_sum({size_product({model_.tables + 1, model_.embedding}), pairs_of(model_.tables)})})};
  }
  /// n b samples in T / n tables are b T vectors, of `lookups` rows each.
  Work lookup_work() const {
    const int64_t rows = size_product({model_.batch, model_.tables, model_.lookups, model_.embedding});
    return {rows, size_sum({rows, vector_elements()})};
  }
  int64_t vector_elements() const { return size_product({model_.batch, model_.tables, model_.embedding}); }
  Bytes bytes(int64_t elements) const { return Bytes(size_product({elements, model_.element.count})); }

  void look_up() { compute("embedding.lookup", lookup_work()); }

  void compute(const std::string& name, const Work& work) {
    last_ = {nodes_.compute(step_ + name, micros_at_peak(work.flops, model_.peak_flops), work.flops,
                            bytes(work.elements), last_)};
  }

  /// Beside what follows.
  Id exchange(const std::string& name) {
    const Bytes size = bytes(vector_elements());
    if (model_.ranks == 1) return last_.front();
    return nodes_.collective(step_ + name, chakra::ALL_TO_ALL, kGroup, size, last_);
  }

  /// Both gradients of each layer, but of the dense features, which learn nothing.
  void backward(const std::vector<DlrmLayer>& layers) {
    for (size_t i = layers.size(); i-- > 0;) {
      const bool first = &layers == &layers_.bottom && i == 0;
      compute(layers[i].name + ".bwd", first ? work_of(layers[i]) : twice(work_of(layers[i])));
      if (model_.ranks == 1) continue;
      gradients_.push_back(nodes_.collective(step_ + layers[i].name + ".gradient.all_reduce", chakra::ALL_REDUCE,
                                             kGroup, bytes(layers[i].parameters()), last_));
    }
  }

  /// Plain stochastic gradient descent: two operations a parameter, which is read with its gradient and written.
  void update() {
    const int64_t parameters = layers_.parameters();
    last_.insert(last_.end(), gradients_.begin(), gradients_.end());
    gradients_.clear();
    compute("optimizer.step", {size_product({2, parameters}), size_product({3, parameters})});
  }

  const DlrmModel& model_;
  const DlrmLayers layers_;
  NodeWriter nodes_;
  StorageClient storage_;
  std::string step_;           ///< what names begin with
  std::vector<Id> last_;       ///< what the next computation waits for
  std::vector<Id> gradients_;  ///< reductions that the optimizer waits for
};

}  // namespace

uint32_t dlrm_ranks(const DlrmModel& model) {
  constexpr const char* kModel = "dlrm";
  check_positive(kModel, {{"ranks", model.ranks},
                          {"batch", model.batch},
                          {"tables", model.tables},
                          {"embedding", model.embedding},
                          {"lookups", model.lookups},
                          {"dense", model.dense},
                          {"element", model.element.count},
                          {"steps", model.steps},
                          {"peak", model.peak_flops}});
  for (const std::vector<int64_t>* widths : {&model.bottom, &model.top}) {
    if (widths->empty()) fail_input("{}: an MLP without layers", kModel);
    for (const int64_t width : *widths) check_positive(kModel, {{"the width of a layer", width}});
  }
  check_multiple(kModel, "tables", model.tables, "ranks", model.ranks);
  if (model.bottom.back() != model.embedding) {
    fail_input("{}: the last layer of bottom has {} outputs, but an embedding has {} elements", kModel,
               model.bottom.back(), model.embedding);
  }
  return checked_ranks(kModel, {model.ranks});
}

GeneratedTraces generate_dlrm(const DlrmModel& model, const NodeFiles& set) {
  const StorageTraffic storage = dlrm_storage(model);
  GeneratedTraces traces{storage.trainers + model.storage.ranks, 0};
  for (uint32_t rank = 0; rank < storage.trainers; ++rank)
    traces.nodes += DlrmRank(model, storage, rank, set.file(rank)).write();
  traces.nodes += write_storage_ranks(storage, set);
  GroupMembers groups;
  if (storage.trainers > 1) {
    groups[kGroup].resize(storage.trainers);
    std::iota(groups[kGroup].begin(), groups[kGroup].end(), 0);
  }
  write_group_file(groups, set);
  return traces;
}

}  // namespace rankwire
