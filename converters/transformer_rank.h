// Writes the nodes of one rank of a transformer as its accelerator comes to them.
#pragma once

#include <string>
#include <vector>

#include "converters/generated_traces.h"
#include "converters/node_writer.h"
#include "converters/transformer_cost.h"
#include "converters/transformer_places.h"

namespace rankwire {

/// Of a pass that goes back: all, or one half (pipeline_schedule.h).
Work backward_work(Pass pass, const Work& forward);
/// ".bwd", or of a half ".bwd_input", ".bwd_weight".
const char* backward_name(Pass pass);

/// Whatever keeps the accelerator busy, and every transfer that it must wait for, depends on what came before (`last`);
/// what is done `beside` depends on it, too, but what follows does not wait. The model is borrowed. All functions throw
/// Error(kInput) for sizes above 2^63 - 1 and Error(kRun) when the file cannot be written.
class RankWriter {
 public:
  using Id = NodeWriter::Id;
  using Ids = std::vector<Id>;

  RankWriter(const TransformerModel& model, uint32_t rank, const NodeFile& file)
      : model_(model), cost_(model), at_(place_of(model, rank)), rank_(rank), nodes_(file) {}

  /// What is written from now on belongs to the step, by which its name begins where there are several.
  void begin(uint32_t step) { prefix_ = step_prefix(model_.steps, step); }
  /// For what is written beside the model; names are then whole.
  NodeWriter& nodes() { return nodes_; }

  const TransformerModel& model() const { return model_; }
  const TransformerCost& cost() const { return cost_; }
  TransformerPlace at() const { return at_; }
  uint32_t peer(TransformerPlace at) const { return rank_of(model_, at); }

  const Ids& last() const { return last_; }
  /// The computation written last, on which its results depend; empty before the first.
  const Ids& computed() const { return computed_; }
  /// What follows depends on these instead.
  void follow(Ids ids) { last_ = std::move(ids); }
  /// What follows depends on these, too.
  void wait_for(const Ids& ids);

  void compute(const std::string& name, const Work& work);
  /// Nothing in a group of one rank. `splits`, where there are some, are sizes by member (docs/collectives.md).
  void collective(const std::string& name, chakra::CollectiveCommType kind, const PlaceGroup& group, Bytes size,
                  const std::vector<Bytes>& splits = {});
  /// From the `source`-th member, a rank, to all.
  void broadcast(const std::string& name, const PlaceGroup& group, uint32_t source, Bytes size);
  Ids beside(const std::string& name, chakra::CollectiveCommType kind, const PlaceGroup& group, Bytes size,
             const Ids& after);
  Id send(const std::string& name, uint32_t to, uint32_t tag, Bytes size, const Ids& after);
  Id receive(const std::string& name, uint32_t from, uint32_t tag, Bytes size, const Ids& after);

  /// Around a block that is divided over the tensor-parallel group: the activations that it has from all shards, and
  /// the sum of what it makes of them. Names are those of the block's pass, "mb0.layer1.mlp.fwd".
  void enter_block(const std::string& name);
  void leave_block(const std::string& name);
  /// With sequence parallelism, the input of a block once more, for the gradients of its weights.
  Ids input_again(const std::string& name);

  uint64_t close();

 private:
  const TransformerModel& model_;
  const TransformerCost cost_;
  const TransformerPlace at_;
  const uint32_t rank_;
  NodeWriter nodes_;
  std::string prefix_;
  Ids last_, computed_;
};

}  // namespace rankwire
