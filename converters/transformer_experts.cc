#include "converters/transformer_experts.h"

#include <numeric>

#include "converters/model_sizes.h"

namespace rankwire {
namespace {

constexpr size_t kMostKept = size_t{1} << 26;  // tokens of pairs of ranks: 512 MiB

RoutedTokens routed_tokens(const TransformerModel& model) {
  return {.ranks = model.expert_parallel,
          .experts = model.experts,
          .per_token = model.experts_per_token,
          .tokens = TransformerCost(model).resident_tokens()};
}

Bytes sum_of(const std::vector<Bytes>& parts) {
  Bytes sum;
  for (const Bytes part : parts) sum.count = size_sum({sum.count, part.count});
  return sum;
}

}  // namespace

ExpertTraffic::ExpertTraffic(const TransformerModel& model)
    : model_(model), routing_(model.routing, routed_tokens(model)) {}

const TokenMatrix& ExpertTraffic::tokens(TransformerPlace at, uint32_t layer, uint32_t micro_batch) {
  const uint32_t group = at.data / model_.expert_parallel;
  const size_t pairs = size_t{model_.expert_parallel} * model_.expert_parallel;
  if (group != group_ || kept_.size() * pairs > kMostKept) kept_.clear();
  group_ = group;
  const uint32_t shard = model_.sequence_parallel ? at.shard : 0;
  const auto known = kept_.find({layer, micro_batch, shard});
  if (known != kept_.end()) return known->second;
  const uint64_t first = uint64_t{group} * model_.expert_parallel * model_.tensor_parallel + shard;
  return kept_
      .emplace(std::tuple(layer, micro_batch, shard),
               routing_.tokens(layer, micro_batch, first, model_.tensor_parallel))
      .first->second;
}

MlpWriter::Exchange MlpWriter::exchange_of(uint32_t layer, uint32_t micro_batch) {
  const TransformerModel& model = rank_.model();
  const TransformerCost& cost = rank_.cost();
  const uint32_t shards = model.sequence_parallel ? model.tensor_parallel : 1;
  Exchange exchange;
  if (traffic_.even()) {
    const int64_t tokens = size_product({cost.resident_tokens(), model.experts_per_token});
    exchange.sent_sum = exchange.received_sum = cost.activations(tokens);
    exchange.tokens = size_product({tokens, shards});
    exchange.all_received = cost.activations(exchange.tokens);
    return exchange;
  }
  const auto bytes_of = [&](const std::vector<int64_t>& tokens) {
    std::vector<Bytes> bytes;
    for (const int64_t part : tokens) bytes.push_back(cost.activations(part));
    return bytes;
  };
  TransformerPlace at = rank_.at();
  const uint32_t own = traffic_.member(at);
  const TokenMatrix& matrix = traffic_.tokens(at, layer, micro_batch);
  exchange.sent = bytes_of(matrix.sent(own)), exchange.sent_sum = sum_of(exchange.sent);
  exchange.received = bytes_of(matrix.received(own)), exchange.received_sum = sum_of(exchange.received);
  for (at.shard = 0; at.shard < shards; ++at.shard) {
    const std::vector<int64_t> tokens = traffic_.tokens(at, layer, micro_batch).received(own);
    const int64_t sum = std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
    exchange.tokens += sum;
    exchange.received_by_shard.push_back(cost.activations(sum));
  }
  exchange.all_received = sum_of(exchange.received_by_shard);
  return exchange;
}

void MlpWriter::dispatch(const std::string& name, const Exchange& exchange) {
  rank_.collective(name + ".all_to_all", chakra::ALL_TO_ALL, expert_group(rank_.model(), rank_.at()), exchange.sent_sum,
                   exchange.sent);
}

void MlpWriter::combine(const std::string& name, const Exchange& exchange) {
  rank_.collective(name + ".all_to_all", chakra::ALL_TO_ALL, expert_group(rank_.model(), rank_.at()),
                   exchange.received_sum, exchange.received);
}

void MlpWriter::gather_tokens(const std::string& name, const Exchange& exchange) {
  if (!rank_.model().sequence_parallel) return;
  rank_.collective(name + ".all_gather", chakra::ALL_GATHER, tensor_group(rank_.model(), rank_.at()),
                   exchange.received_sum, exchange.received_by_shard);
}

void MlpWriter::scatter_tokens(const std::string& name, const Exchange& exchange) {
  if (!rank_.model().sequence_parallel) return;
  rank_.collective(name + ".reduce_scatter", chakra::REDUCE_SCATTER, tensor_group(rank_.model(), rank_.at()),
                   exchange.all_received, exchange.received_by_shard);
}

void MlpWriter::dense_forward(const std::string& name) {
  rank_.enter_block(name + ".mlp.fwd");
  rank_.compute(name + ".mlp.fwd", rank_.cost().mlp());
  rank_.leave_block(name + ".mlp.fwd");
}

void MlpWriter::dense_backward(const std::string& name, Pass pass) {
  const std::string block = name + ".mlp" + backward_name(pass);
  if (pass == Pass::kWeight) {
    rank_.wait_for(rank_.input_again(block));
    return rank_.compute(block, backward_work(pass, rank_.cost().mlp()));
  }
  rank_.enter_block(block);
  const RankWriter::Ids again = pass == Pass::kBackward ? rank_.input_again(block) : RankWriter::Ids();
  rank_.compute(block, backward_work(pass, rank_.cost().mlp()));
  rank_.leave_block(block);
  rank_.wait_for(again);
}

/// The shared experts, beside what has been begun: what they depend on is `after`; what depends on them is returned.
RankWriter::Ids MlpWriter::shared_forward(const std::string& name, const RankWriter::Ids& after) {
  if (rank_.model().shared_experts == 0) return {};
  const RankWriter::Ids begun = rank_.last();
  const std::string block = name + ".shared.fwd";
  rank_.follow(after);
  rank_.enter_block(block);
  rank_.compute(block, rank_.cost().shared_experts());
  if (rank_.model().sequence_parallel) rank_.leave_block(block);
  RankWriter::Ids done = rank_.last();
  rank_.follow(begun);
  return done;
}

RankWriter::Ids MlpWriter::shared_backward(const std::string& name, const RankWriter::Ids& after, Pass pass) {
  if (rank_.model().shared_experts == 0) return {};
  const RankWriter::Ids begun = rank_.last();
  const std::string block = name + ".shared" + backward_name(pass);
  rank_.follow(after);
  rank_.enter_block(block);
  const RankWriter::Ids again = pass == Pass::kBackward ? rank_.input_again(block) : RankWriter::Ids();
  rank_.compute(block, backward_work(pass, rank_.cost().shared_experts()));
  if (rank_.model().sequence_parallel) rank_.leave_block(block);
  rank_.wait_for(again);
  RankWriter::Ids done = rank_.last();
  rank_.follow(begun);
  return done;
}

void MlpWriter::forward(const std::string& name, uint32_t layer, uint32_t micro_batch) {
  if (!rank_.model().has_experts(layer)) return dense_forward(name);
  const Exchange exchange = exchange_of(layer, micro_batch);
  rank_.compute(name + ".router.fwd", rank_.cost().router());
  const RankWriter::Ids routed = rank_.last();
  dispatch(name + ".dispatch.fwd", exchange);
  const RankWriter::Ids shared = shared_forward(name, routed);
  gather_tokens(name + ".mlp.fwd", exchange);
  rank_.wait_for(shared);
  rank_.compute(name + ".mlp.fwd", rank_.cost().experts(exchange.tokens));
  scatter_tokens(name + ".mlp.fwd", exchange);
  combine(name + ".combine.fwd", exchange);
  if (!rank_.model().sequence_parallel) rank_.leave_block(name + ".mlp.fwd");
}

void MlpWriter::backward(const std::string& name, uint32_t layer, uint32_t micro_batch, Pass pass) {
  if (!rank_.model().has_experts(layer)) return dense_backward(name, pass);
  const Exchange exchange = exchange_of(layer, micro_batch);
  if (pass == Pass::kWeight) return weights_backward(name, exchange);
  experts_backward(name, exchange, pass);
}

void MlpWriter::experts_backward(const std::string& name, const Exchange& exchange, Pass pass) {
  const std::string suffix = backward_name(pass);
  const RankWriter::Ids before = rank_.last();
  dispatch(name + ".combine" + suffix, exchange);
  const RankWriter::Ids shared = shared_backward(name, before, pass);
  gather_tokens(name + ".mlp" + suffix, exchange);
  rank_.wait_for(shared);
  rank_.compute(name + ".mlp" + suffix, backward_work(pass, rank_.cost().experts(exchange.tokens)));
  scatter_tokens(name + ".mlp" + suffix, exchange);
  combine(name + ".dispatch" + suffix, exchange);
  rank_.compute(name + ".router" + suffix, backward_work(pass, rank_.cost().router()));
  if (!rank_.model().sequence_parallel) rank_.leave_block(name + ".mlp" + suffix);
}

void MlpWriter::weights_backward(const std::string& name, const Exchange& exchange) {
  const std::string suffix = backward_name(Pass::kWeight);
  rank_.compute(name + ".mlp" + suffix, backward_of_weights(rank_.cost().experts(exchange.tokens)));
  if (rank_.model().shared_experts > 0) {
    rank_.wait_for(rank_.input_again(name + ".shared" + suffix));
    rank_.compute(name + ".shared" + suffix, backward_of_weights(rank_.cost().shared_experts()));
  }
  rank_.compute(name + ".router" + suffix, backward_of_weights(rank_.cost().router()));
}

}  // namespace rankwire
