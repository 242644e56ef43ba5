// Traces of an inference service: pools of instances that compute prompts (prefill) and the tokens behind them
// (decode), apart (Zhong et al., "DistServe", OSDI 2024; Patel et al., "Splitwise", ISCA 2024) or in one pool.
//
// What is computed together is decided beforehand, see batching.h; a trace holds these batches in their order. A batch
// begins when the one before it has ended, its requests have arrived, and the keys and values that it needs are there.
// Ranks stand instance by instance: those of prefill, of decode, or of the one pool, and then the cache's; within an
// instance rank = first + replica * tensor_parallel + shard. In each batch of T tokens, n = ceil(T / expert_parallel):
//
//   tensor    an all-reduce of n h elements for the embedding and two in each layer, as in training, and where the
//   batch
//             gives tokens an all-gather of their logits, ceil(V / tensor_parallel) elements a token and shard
//   experts   two all-to-alls in each layer with experts, of h elements a token and expert that it goes to: as many
//             to each, or as tokens choose (expert_routing.h), each replica having n of them
//   prefill to decode   keys and values of all input tokens, shard to shard (see kv_cache.h), as SEND and RECV, of
//             requests with more than one output token
//   cache     keys and values of the prefix of a request that hits, from a cache rank that has all heads to every shard
//             that computes its prompt
//
// A request is at one replica of an instance, request mod expert_parallel, and its tag is its number. It arrives by a
// node of the host that depends on nothing but the arrival before it and lasts as long as lies between: such a chain
// ends at the times of arrival whatever else happens (an open loop). Attributes of nodes say what becomes of requests,
// see request_marks.h of the workload: `request_arrival` and `request_input_tokens` of arrivals at the first rank of
// the instance that computes the prompt, with `request_held_batches` where memory is limited, and `request_token` of
// the last node of each batch at the first rank of its instance.
//
// Groups are NAME<instance>.tp<replica> and NAME<instance>.ep<shard>, NAME being prefill, decode or mixed.
#pragma once

#include <string>

#include "converters/generated_traces.h"
#include "converters/serving_model.h"

namespace rankwire {

/// Throws Error(kInput) for a service that cannot be divided as asked, or lacks a pool.
uint32_t inference_ranks(const ServingModel& model);

/// More are not written.
inline constexpr uint64_t kMostServedNodes = 20'000'000;

/// Writes `<prefix>.<rank>.et` for every rank and `<prefix>.json`; errors and guarantees are those of
/// generate_transformer, and it is an Error(kInput) when there would be more than kMostServedNodes nodes.
GeneratedTraces generate_inference(const ServingModel& model, const NodeFiles& set);

}  // namespace rankwire
