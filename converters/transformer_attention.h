// Attention of one layer, of a sequence that ranks have parts of.
//
// With c = context_parallel a rank has s / c tokens of each sequence. In a ring the keys and values of each rank's
// tokens go to the next rank c - 1 times, while the rank computes with those that it has; in the backward pass they go
// round again, and their gradients c times, the last time home (Liu et al., Ring Attention, 2023). Where only earlier
// tokens are seen, ranks of one part each have work for 1 .. c blocks (`contiguous`); with the i-th and the i-th last
// of 2 c parts all have as much in every step (`balanced`; Megatron-LM and others). By all-to-all queries, keys and
// values of all heads and some tokens are exchanged for those of some heads and all tokens, and back behind the scores
// (Jacobs et al., DeepSpeed-Ulysses, 2023); the backward pass does the same the other way.
#pragma once

#include <string>

#include "converters/transformer_rank.h"

namespace rankwire {

/// `layer` begins the names: "mb0.layer1".
void attention_forward(RankWriter& rank, const std::string& layer);
/// `pass` is not kForward.
void attention_backward(RankWriter& rank, const std::string& layer, Pass pass);

}  // namespace rankwire
