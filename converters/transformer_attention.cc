#include "converters/transformer_attention.h"

#include <fmt/format.h>

namespace rankwire {
namespace {

constexpr uint32_t kKeysTag = 0, kGradientsTag = 1;

/// The ring of one pass through one layer.
class Ring {
 public:
  Ring(RankWriter& rank, std::string name)
      : rank_(rank), name_(std::move(name)), ranks_(rank.model().context_parallel), own_(rank.at().data % ranks_) {}

  void forward() {
    for (uint32_t step = 0; step < ranks_; ++step) {
      pass_keys_on(step);
      compute(step, block(step), ".fwd");
    }
  }

  void backward() {
    RankWriter::Ids gradients;  // of the keys that the rank has, from those who had them before
    for (uint32_t step = 0; step < ranks_; ++step) {
      pass_keys_on(step);
      compute(step, backward_of_inputs(block(step)), ".bwd");
      RankWriter::Ids summed = rank_.last();
      summed.insert(summed.end(), gradients.begin(), gradients.end());
      rank_.send(fmt::format("{}.gradient{}.send", name_, step), next(), kGradientsTag, size(), summed);
      gradients = {rank_.receive(fmt::format("{}.gradient{}.receive", name_, step), previous(), kGradientsTag, size(),
                                 rank_.last())};
    }
    rank_.wait_for(gradients);
  }

 private:
  uint32_t neighbour(uint32_t distance) const {
    TransformerPlace at = rank_.at();
    at.data = at.data - own_ + (own_ + distance) % ranks_;
    return rank_.peer(at);
  }
  uint32_t next() const { return neighbour(1); }
  uint32_t previous() const { return neighbour(ranks_ - 1); }
  Bytes size() const { return rank_.cost().keys_and_values(); }

  /// The keys of `step` go on, and the next ones come, both while the rank computes.
  void pass_keys_on(uint32_t step) {
    rank_.wait_for(arrived_);
    if (step + 1 == ranks_) return;
    const RankWriter::Ids has = step == 0 ? rank_.last() : arrived_;
    rank_.send(fmt::format("{}.keys{}.send", name_, step), next(), kKeysTag, size(), has);
    arrived_ = {
        rank_.receive(fmt::format("{}.keys{}.receive", name_, step), previous(), kKeysTag, size(), rank_.last())};
  }

  /// Scores with the tokens of the rank `step` places back: half of a block's where only earlier ones are seen.
  Work block(uint32_t step) const {
    const Work part = rank_.cost().attention_scores().part(ranks_);
    if (rank_.model().causal != TransformerModel::Causal::kContiguous || step == 0) return part;
    if (step > own_) return {};
    return {2 * part.flops, part.memory, 2 * part.scores};
  }

  void compute(uint32_t step, const Work& work, const char* pass) {
    if (work.flops > 0) rank_.compute(fmt::format("{}.scores{}{}", name_, step, pass), work);
  }

  RankWriter& rank_;
  const std::string name_;
  const uint32_t ranks_, own_;
  RankWriter::Ids arrived_;
};

bool is_ring(const RankWriter& rank) {
  return rank.model().context == TransformerModel::Context::kRing;
}

/// All that each head needs.
Bytes inputs(const RankWriter& rank) {
  return Bytes(rank.cost().queries().count + rank.cost().keys_and_values().count);
}

void exchange_heads(RankWriter& rank, const std::string& name, Bytes size) {
  rank.collective(name + ".all_to_all", chakra::ALL_TO_ALL, context_group(rank.model(), rank.at()), size);
}

void forward_of_parts(RankWriter& rank, const std::string& name) {
  const TransformerCost& cost = rank.cost();
  rank.compute(name + ".qkv.fwd", cost.attention_input());
  if (is_ring(rank)) {
    Ring(rank, name + ".fwd").forward();
  } else {
    exchange_heads(rank, name + ".qkv.fwd", inputs(rank));
    rank.compute(name + ".scores.fwd", cost.attention_scores());
    exchange_heads(rank, name + ".output.fwd", cost.attention_result());
  }
  rank.compute(name + ".output.fwd", cost.attention_output());
}

void backward_of_parts(RankWriter& rank, const std::string& name, Pass pass) {
  const TransformerCost& cost = rank.cost();
  const std::string suffix = backward_name(pass);
  rank.compute(name + ".output" + suffix, backward_work(pass, cost.attention_output()));
  if (is_ring(rank)) {
    Ring(rank, name + suffix).backward();
  } else {
    exchange_heads(rank, name + ".output" + suffix, cost.attention_result());
    rank.compute(name + ".scores" + suffix, backward_of_inputs(cost.attention_scores()));
    exchange_heads(rank, name + ".qkv" + suffix, inputs(rank));
  }
  rank.compute(name + ".qkv" + suffix, backward_work(pass, cost.attention_input()));
}

}  // namespace

void attention_forward(RankWriter& rank, const std::string& layer) {
  const std::string name = layer + ".attention";
  rank.enter_block(name + ".fwd");
  if (rank.model().context_parallel > 1) {
    forward_of_parts(rank, name);
  } else {
    rank.compute(name + ".fwd", rank.cost().attention());
  }
  rank.leave_block(name + ".fwd");
}

void attention_backward(RankWriter& rank, const std::string& layer, Pass pass) {
  const std::string name = layer + ".attention" + backward_name(pass);
  if (pass == Pass::kWeight) {
    rank.wait_for(rank.input_again(name));
    return rank.compute(name, backward_work(pass, rank.cost().attention()));
  }
  rank.enter_block(name);
  const RankWriter::Ids again = pass == Pass::kBackward ? rank.input_again(name) : RankWriter::Ids();
  if (rank.model().context_parallel > 1) {
    backward_of_parts(rank, layer + ".attention", pass);
  } else {
    rank.compute(name, backward_work(pass, rank.cost().attention()));
  }
  rank.leave_block(name);
  rank.wait_for(again);
}

}  // namespace rankwire
