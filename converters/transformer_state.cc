#include "converters/transformer_state.h"

#include <algorithm>

#include "converters/model_sizes.h"
#include "converters/transformer_cost.h"
#include "converters/transformer_parameters.h"
#include "converters/transformer_places.h"

namespace rankwire {
namespace {

/// Parameters that are divided and kept in one way.
struct ParameterSet {
  uint32_t number = 0;
  TransformerPlace at;  ///< of one who has them
  bool experts = false, divided_by_stage_one = true;
  int64_t whole = 0, part = 0;  ///< parameters, and those of a part where they are divided, the last ones padded

  void add(int64_t parameters, uint32_t parts) {
    whole = size_sum({whole, parameters});
    part = size_sum({part, divide_up(parameters, parts)});
  }
};

class TransformerState {
 public:
  explicit TransformerState(const TransformerModel& model) : model_(model), cost_(model) {}

  std::vector<StateFile> files(uint32_t rank, bool written) const {
    std::vector<StateFile> files;
    for (const ParameterSet& set : sets(place_of(model_, rank))) {
      if (written && set.at.stage != place_of(model_, rank).stage) continue;
      add_files(set, {2 * set.number, model_.element.count, model_.zero == 3}, written, files);
      const bool divided = set.divided_by_stage_one ? model_.zero > 0 : model_.zero == 3;
      add_files(set, {2 * set.number + 1, model_.storage.optimizer_bytes, divided}, written, files);
    }
    return files;
  }

 private:
  struct Kind {
    uint32_t number;
    int64_t bytes;  ///< a parameter
    bool divided;
  };

  std::vector<ParameterSet> sets(TransformerPlace at) const {
    const uint32_t parts = parameter_groups(model_, at, false).shared.size;
    ParameterSet layers{.number = 0, .at = at}, experts{.number = 1, .at = at, .experts = true};
    ParameterSet embeddings{.number = 2, .at = at, .divided_by_stage_one = false};
    for (const uint32_t layer : stage_layers(model_, at.stage)) {
      layers.add(cost_.layer_parameters(layer), parts);
      if (model_.has_experts(layer))
        experts.add(cost_.expert_parameters(), parameter_groups(model_, at, true).shared.size);
    }
    const bool first = has_input(model_, at.stage), last = has_output(model_, at.stage);
    if (first || (last && !model_.tied_embeddings)) embeddings.add(cost_.embedding_parameters(), parts);
    if (last && (first != model_.tied_embeddings)) embeddings.add(cost_.embedding_parameters(), parts);
    if (last && !first && model_.tied_embeddings) embeddings.at.stage = 0;
    return {layers, experts, embeddings};
  }

  /// Those that the rank at `set.at` writes, or all of which it has something.
  void add_files(const ParameterSet& set, const Kind& kind, bool written, std::vector<StateFile>& files) const {
    const ParameterGroups groups = parameter_groups(model_, set.at, set.experts);
    const uint32_t parts = groups.shared.size;
    const uint32_t holders = kind.divided ? groups.kept.size : parts * groups.kept.size;
    const uint32_t own = kind.divided ? groups.copy : groups.copy * parts + groups.part;
    const uint32_t writers = model_.storage.writers == StorageModel::Writers::kAll ? holders : 1;
    const int64_t parameters = kind.divided ? set.part : set.whole;
    const Bytes size(size_product({divide_up(parameters, writers), kind.bytes}));
    if (size.count == 0) return;
    const uint32_t begin = written ? own : 0, end = written ? std::min(own + 1, writers) : writers;
    for (uint32_t holder = begin; holder < end; ++holder) {
      const uint32_t part = kind.divided ? groups.part : holder % parts;
      const uint32_t copy = kind.divided ? holder : holder / parts;
      files.push_back({rank_of(model_, holder_of(model_, set.at, set.experts, part, copy)), kind.number, size});
    }
  }

  const TransformerModel& model_;
  const TransformerCost cost_;
};

}  // namespace

bool uses_samples(const TransformerModel& model, uint32_t stage) {
  return model.storage.sample.count > 0 && (has_input(model, stage) || has_output(model, stage));
}

StorageTraffic transformer_storage(const TransformerModel& model) {
  const StorageModel& storage = model.storage;
  StorageTraffic traffic{
      .model = storage,
      .trainers = transformer_ranks(model),
      .steps = model.steps,
      .samples = {},
      .written = {},
      .restored = [state = TransformerState(model)](uint32_t rank) { return state.files(rank, false); }};
  if (storage.ranks == 0) return traffic;
  const TransformerState state(model);
  const Bytes batch(size_product(
      {model.micro_batches, model.micro_batch_size, divide_up(storage.sample.count, model.context_parallel)}));
  for (uint32_t rank = 0; rank < traffic.trainers; ++rank) {
    const TransformerPlace at = place_of(model, rank);
    traffic.samples.push_back(uses_samples(model, at.stage) && at.shard == 0 ? batch : Bytes(0));
    traffic.written.push_back(state.files(rank, true));
  }
  return traffic;
}

}  // namespace rankwire
