// Parameters and gradients of one rank of a transformer, which replicas have in common.
//
// Of the N ranks with the same parameters, S = N / shard_replicas divide them, and the gradients of a part are
// all-reduced between the shard_replicas that have it (hybrid sharding; Zhao et al., PyTorch FSDP, VLDB 2023). By
// stages of ZeRO (Rajbhandari et al., SC20):
//
//   0   the gradients of a layer are all-reduced once its last backward pass is done
//   1   they are reduce-scattered then, and the layer's parameters all-gathered after the optimizer
//   2   no rank keeps gradients that are not its own: they are reduce-scattered in every micro-batch
//   3   no rank keeps parameters that are not its own: those of a layer are all-gathered before each of its passes,
//   with
//       `prefetch` layers' ahead of the computation; without `reshard_after_forward` a backward pass needs no further
//       gathering, unless another one of the layer came between
//
// Experts are exchanged in the same way by those that have the same ones. The embedding's gradients are all-reduced, at
// stage 3 reduce-scattered, once a step, and its parameters gathered at its beginning; first and last stage, where they
// share it, then all-reduce what they have.
#pragma once

#include <string>
#include <vector>

#include "converters/pipeline_schedule.h"
#include "converters/transformer_rank.h"

namespace rankwire {

/// Layers of part i of a stage.
struct LayerRange {
  uint32_t first = 0, count = 0;
};
LayerRange layers_of(const TransformerModel& model, uint32_t stage, uint32_t part);
/// Of all parts.
std::vector<uint32_t> stage_layers(const TransformerModel& model, uint32_t stage);

class ParameterExchange {
 public:
  /// `steps` are those of the rank's stage.
  ParameterExchange(RankWriter& rank, const std::vector<PipelineStep>& steps);

  /// Before all else.
  void begin_step();
  /// Before a layer's forward and backward pass, but not that of weights alone; in the order of the steps, and of steps
  /// beside each other one layer of each in turn.
  void enter_layer();
  /// The gradients of a layer's experts, and of all else in it, have been computed.
  void expert_gradients(uint32_t layer, uint32_t micro_batch);
  void layer_gradients(uint32_t layer, uint32_t micro_batch);
  /// Those of the input ("embedding") or of the output ("logits") of all micro-batches.
  void embedding_gradients(const std::string& name);
  /// Returns what is left to wait for at the end of the step.
  RankWriter::Ids update_parameters();

 private:
  /// A pass through a layer, and whether its parameters must come before it.
  struct LayerPass {
    PipelineStep step;
    uint32_t layer = 0;
    bool gathers = false;
  };
  struct Unit {
    std::string name;
    int64_t parameters = 0;
    ParameterGroups groups;

    int64_t part() const;  ///< that a rank keeps, the last one padded
  };

  Unit layer_unit(uint32_t layer) const;
  Unit expert_unit(uint32_t layer) const;
  std::vector<Unit> units(uint32_t layer) const;
  std::vector<uint32_t> own_layers() const { return stage_layers(rank_.model(), rank_.at().stage); }
  Unit embedding_unit(const std::string& name) const;
  bool sharded() const { return rank_.model().zero == 3; }
  void plan(const std::vector<PipelineStep>& steps);
  void add_pass(const PipelineStep& step, uint32_t k);
  void gather_until(size_t end);
  /// `what` is the unit, or the unit in a pass.
  RankWriter::Ids gather(const std::string& what, const Unit& unit, const RankWriter::Ids& after);
  RankWriter::Ids gather(const Unit& unit, const RankWriter::Ids& after) { return gather(unit.name, unit, after); }
  void reduce(const Unit& unit, uint32_t micro_batch);
  void add_gradients(const RankWriter::Ids& done);
  int64_t updated_parameters() const;

  RankWriter& rank_;
  std::vector<LayerPass> passes_;
  std::vector<RankWriter::Ids> gathered_;  ///< by pass
  size_t next_ = 0, begun_ = 0;            ///< passes: the next one, and the first not gathered for
  RankWriter::Ids gradients_;              ///< reductions that the optimizer waits for
};

}  // namespace rankwire
