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

  /// Of which keys and values are here in the end; the last token's are not, since none comes after it.
  int64_t kept_tokens() const { return context + prompt_left + decodes_left; }
};

/// A request whose turn came while memory was full: how many batches began without it.
struct HeldRequest {
  uint32_t request = 0;
  uint32_t batches = 0;
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
  ServingInstance(const ServingPool& pool, const InferenceCost& cost)
      : pool_(pool), cost_(cost), kept_(pool.expert_parallel) {}

  /// A request that the memory for keys and values has room for.
  void add(const WaitingRequest& request);
  /// Computes the batches that begin before `until`.
  void advance(Duration until);

  int64_t prompt_tokens() const { return prompt_tokens_; }  ///< that it has yet to compute
  size_t requests() const { return waiting_.size() + running_.size(); }
  std::vector<FirstToken> take_first_tokens() { return std::exchange(first_tokens_, {}); }
  std::vector<HeldRequest> take_held() { return std::exchange(held_, {}); }
  InstancePlan take_plan() { return {.batches = std::move(batches_)}; }

 private:
  Batch next_batch();
  void admit(Batch& batch, int64_t left);
  bool has_room_for_next();
  /// Tokens that the request's replica keeps keys and values of.
  int64_t& kept(uint32_t request) { return kept_[request % pool_.expert_parallel]; }
  void end(const Batch& batch);

  const ServingPool& pool_;
  const InferenceCost& cost_;
  std::deque<WaitingRequest> waiting_;   ///< by when they are ready
  std::vector<WaitingRequest> running_;  ///< in the order in which they were taken
  std::vector<Batch> batches_;
  std::vector<FirstToken> first_tokens_;
  std::vector<HeldRequest> held_;  ///< in the order of their turns
  std::vector<int64_t> kept_;      ///< by replica: tokens for which there is memory set aside
  Duration free_;                  ///< when the last batch ends
  int64_t prompt_tokens_ = 0;
};

}  // namespace rankwire
