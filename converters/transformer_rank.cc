#include "converters/transformer_rank.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

Work backward_work(Pass pass, const Work& forward) {
  if (pass == Pass::kInput) return backward_of_inputs(forward);
  if (pass == Pass::kWeight) return backward_of_weights(forward);
  return backward(forward);
}

const char* backward_name(Pass pass) {
  if (pass == Pass::kInput) return ".bwd_input";
  if (pass == Pass::kWeight) return ".bwd_weight";
  return ".bwd";
}

void RankWriter::wait_for(const Ids& ids) {
  for (const Id id : ids) {
    if (std::ranges::find(last_, id) == last_.end()) last_.push_back(id);
  }
}

void RankWriter::compute(const std::string& name, const Work& work) {
  last_ = computed_ = {nodes_.compute(prefix_ + name, cost_.duration_micros(work), work.flops, work.memory, last_)};
}

void RankWriter::collective(const std::string& name, chakra::CollectiveCommType kind, const PlaceGroup& group,
                            Bytes size, const std::vector<Bytes>& splits) {
  if (group.size == 1) return;
  nodes_.with_splits(splits);
  last_ = {nodes_.collective(prefix_ + name, kind, group.name, size, last_)};
}

void RankWriter::broadcast(const std::string& name, const PlaceGroup& group, uint32_t source, Bytes size) {
  if (group.size > 1) nodes_.with("root", int64_t{source});
  collective(name, chakra::BROADCAST, group, size);
}

RankWriter::Ids RankWriter::beside(const std::string& name, chakra::CollectiveCommType kind, const PlaceGroup& group,
                                   Bytes size, const Ids& after) {
  if (group.size == 1) return after;
  return {nodes_.collective(prefix_ + name, kind, group.name, size, after)};
}

RankWriter::Id RankWriter::send(const std::string& name, uint32_t to, uint32_t tag, Bytes size, const Ids& after) {
  return nodes_.send(prefix_ + name, rank_, to, tag, size, after);
}

RankWriter::Id RankWriter::receive(const std::string& name, uint32_t from, uint32_t tag, Bytes size, const Ids& after) {
  return nodes_.receive(prefix_ + name, from, rank_, tag, size, after);
}

void RankWriter::enter_block(const std::string& name) {
  if (!model_.sequence_parallel) return;
  collective(name + ".all_gather", chakra::ALL_GATHER, tensor_group(model_, at_),
             cost_.activations(cost_.resident_tokens()));
}

void RankWriter::leave_block(const std::string& name) {
  const bool scatters = model_.sequence_parallel;
  collective(name + (scatters ? ".reduce_scatter" : ".all_reduce"),
             scatters ? chakra::REDUCE_SCATTER : chakra::ALL_REDUCE, tensor_group(model_, at_),
             cost_.activations(cost_.tokens()));
}

RankWriter::Ids RankWriter::input_again(const std::string& name) {
  if (!model_.sequence_parallel || model_.tensor_parallel == 1) return {};
  return beside(name + ".input.all_gather", chakra::ALL_GATHER, tensor_group(model_, at_),
                cost_.activations(cost_.resident_tokens()), last_);
}

uint64_t RankWriter::close() {
  return nodes_.close();
}

}  // namespace rankwire
