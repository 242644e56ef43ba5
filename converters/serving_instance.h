// One instance of an inference service, as the generator imagines it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "converters/batching.h"
#include "converters/inference_cost.h"

namespace rankwire {

/// A request on its way through an instance.
struct WaitingRequest {
  uint32_t request = 0;
  Duration ready;            ///< from when on it can be taken
  int64_t context = 0;       ///< tokens whose keys and values are there
  int64_t prompt_left = 0;   ///< tokens of the prompt to be computed
  int64_t decodes_left = 0;  ///< tokens to be made here behind the first one
};

/// When the first token of a request was made.
struct FirstToken {
  uint32_t request = 0;
  Duration at;
};

/// See batching.h for what it does. Requests are added in the order in which they are ready.
class ServingInstance {
 public:
  /// Both outlive the instance.
  ServingInstance(const ServingPool& pool, const InferenceCost& cost) : pool_(pool), cost_(cost) {}

  void add(const WaitingRequest& request);
  /// Computes the batches that begin before `until`.
  void advance(Duration until);

  int64_t prompt_tokens() const { return prompt_tokens_; }  ///< that it has yet to compute
  size_t requests() const { return waiting_.size() + running_.size(); }
  std::vector<FirstToken> take_first_tokens() { return std::exchange(first_tokens_, {}); }
  InstancePlan take_plan() { return {.batches = std::move(batches_)}; }

 private:
  Batch next_batch();
  void admit(Batch& batch, int64_t left);
  void end(const Batch& batch);

  const ServingPool& pool_;
  const InferenceCost& cost_;
  std::deque<WaitingRequest> waiting_;   ///< by when they are ready
  std::vector<WaitingRequest> running_;  ///< in the order in which they were taken
  std::vector<Batch> batches_;
  std::vector<FirstToken> first_tokens_;
  Duration free_;  ///< when the last batch ends
  int64_t prompt_tokens_ = 0;
};

}  // namespace rankwire
