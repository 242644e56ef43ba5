// The MLP of one layer: dense, or experts of which each token goes to some.
//
// With E experts (Shazeer et al. 2017; Lepikhin et al., GShard, ICLR 2021) of which each token goes to k, a router
// chooses, an all-to-all takes tokens to the ranks of their experts and another one the results back, in each layer
// with experts, micro-batch and pass; gradients go the same ways. A token goes to a rank once for each of its experts
// there. The experts of a layer are divided over `expert_parallel` neighbours and, like a dense MLP, over the
// tensor-parallel group. With sequence parallelism each rank of that group routes its own tokens; what arrives is
// all-gathered in the group before the experts and reduce-scattered behind them (Megatron-LM's all-to-all dispatcher).
// Shared experts work while tokens are on their way.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "converters/transformer_rank.h"

namespace rankwire {

/// The tokens of all exchanges of a step, the same for all ranks; those of one expert-parallel group are kept until
/// another one is asked for.
class ExpertTraffic {
 public:
  /// The model is borrowed. Throws as ExpertRouting does.
  explicit ExpertTraffic(const TransformerModel& model);

  /// Every rank sends as much to every other one.
  bool even() const { return routing_.even(); }
  /// Of the group at `at`, with sequence parallelism that of its shard.
  const TokenMatrix& tokens(TransformerPlace at, uint32_t layer, uint32_t micro_batch);
  /// The place of a rank in its group.
  uint32_t member(TransformerPlace at) const { return at.data % model_.expert_parallel; }

 private:
  const TransformerModel& model_;
  ExpertRouting routing_;
  uint32_t group_ = 0;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, TokenMatrix> kept_;  ///< by layer, micro-batch, shard
};

/// The MLPs of one rank.
class MlpWriter {
 public:
  MlpWriter(RankWriter& rank, ExpertTraffic& traffic) : rank_(rank), traffic_(traffic) {}

  /// `name` is that of the layer in the micro-batch: "mb0.layer1".
  void forward(const std::string& name, uint32_t layer, uint32_t micro_batch);
  /// `pass` is not kForward.
  void backward(const std::string& name, uint32_t layer, uint32_t micro_batch, Pass pass);

 private:
  /// What a rank has to do with the tokens of one exchange.
  struct Exchange {
    std::vector<Bytes> sent, received;  ///< by member; empty where all are equal
    Bytes sent_sum, received_sum;
    std::vector<Bytes> received_by_shard;  ///< with sequence parallelism; empty where all are equal
    Bytes all_received;
    int64_t tokens = 0;  ///< with which the experts compute
  };

  Exchange exchange_of(uint32_t layer, uint32_t micro_batch);
  void dense_forward(const std::string& name);
  void dense_backward(const std::string& name, Pass pass);
  void experts_backward(const std::string& name, const Exchange& exchange, Pass pass);
  void weights_backward(const std::string& name, const Exchange& exchange);
  RankWriter::Ids shared_forward(const std::string& name, const RankWriter::Ids& after);
  RankWriter::Ids shared_backward(const std::string& name, const RankWriter::Ids& after, Pass pass);
  void dispatch(const std::string& name, const Exchange& exchange);
  void combine(const std::string& name, const Exchange& exchange);
  void gather_tokens(const std::string& name, const Exchange& exchange);
  void scatter_tokens(const std::string& name, const Exchange& exchange);

  RankWriter& rank_;
  ExpertTraffic& traffic_;
};

}  // namespace rankwire
