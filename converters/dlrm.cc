#include "converters/dlrm.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "converters/model_sizes.h"
#include "converters/node_writer.h"

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

/// One rank's step; all ranks have the same. Computations depend on the one before (`last_`).
class DlrmStep {
 public:
  DlrmStep(const DlrmModel& model, const std::string& file)
      : model_(model),
        bottom_(layers_of("bottom", model.dense, model.bottom)),
        top_(layers_of("top", size_sum({model.embedding, pairs_of(model.tables)}), model.top)),
        nodes_(file) {}

  uint64_t write() {
    look_up();
    const Id vectors = exchange("embedding.all_to_all");
    for (const DlrmLayer& layer : bottom_) compute(layer.name + ".fwd", work_of(layer));
    last_.push_back(vectors);
    compute("interaction.fwd", interaction());
    for (const DlrmLayer& layer : top_) compute(layer.name + ".fwd", work_of(layer));

    backward(top_);
    compute("interaction.bwd", twice(interaction()));
    const Id gradients = exchange("embedding.gradient.all_to_all");
    backward(bottom_);
    last_.push_back(gradients);
    compute("embedding.update", lookup_work());
    update();
    nodes_.close();
    return nodes_.counts().nodes;
  }

 private:
  using Id = NodeWriter::Id;
  struct Work {
    int64_t flops = 0, elements = 0;  ///< elements that go to or from memory
  };

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
    last_ = {
        nodes_.compute(name, micros_at_peak(work.flops, model_.peak_flops), work.flops, bytes(work.elements), last_)};
  }

  /// Beside what follows.
  Id exchange(const std::string& name) {
    const Bytes size = bytes(vector_elements());
    if (model_.ranks == 1) return last_.front();
    return nodes_.collective(name, chakra::ALL_TO_ALL, kGroup, size, last_);
  }

  /// Both gradients of each layer, but of the dense features, which learn nothing.
  void backward(const std::vector<DlrmLayer>& layers) {
    for (size_t i = layers.size(); i-- > 0;) {
      const bool first = &layers == &bottom_ && i == 0;
      compute(layers[i].name + ".bwd", first ? work_of(layers[i]) : twice(work_of(layers[i])));
      if (model_.ranks == 1) continue;
      gradients_.push_back(nodes_.collective(layers[i].name + ".gradient.all_reduce", chakra::ALL_REDUCE, kGroup,
                                             bytes(layers[i].parameters()), last_));
    }
  }

  /// Plain stochastic gradient descent: two operations a parameter, which is read with its gradient and written.
  void update() {
    int64_t parameters = 0;
    for (const std::vector<DlrmLayer>* layers : {&bottom_, &top_})
      for (const DlrmLayer& layer : *layers) parameters = size_sum({parameters, layer.parameters()});
    last_.insert(last_.end(), gradients_.begin(), gradients_.end());
    compute("optimizer.step", {size_product({2, parameters}), size_product({3, parameters})});
  }

  const DlrmModel& model_;
  const std::vector<DlrmLayer> bottom_, top_;
  NodeWriter nodes_;
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

GeneratedTraces generate_dlrm(const DlrmModel& model, const std::string& prefix) {
  GeneratedTraces traces{dlrm_ranks(model), 0};
  for (uint32_t rank = 0; rank < traces.ranks; ++rank)
    traces.nodes += DlrmStep(model, trace_file(prefix, rank)).write();
  GroupMembers groups;
  if (traces.ranks > 1) {
    groups[kGroup].resize(traces.ranks);
    std::iota(groups[kGroup].begin(), groups[kGroup].end(), 0);
  }
  write_group_file(groups, prefix);
  return traces;
}

}  // namespace rankwire
