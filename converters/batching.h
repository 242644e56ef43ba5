// Which requests an inference service computes together, decided iteration by iteration (Yu et al., "Orca", OSDI 2022,
// section 3.1).
//
// An instance computes one batch after another. A batch has the next token of each request that decodes, and prompts in
// the order in which they came, as far as max_tokens and max_requests allow. The first prompt of a batch is computed
// whole, whatever its length; a further one that does not fit waits for the next batch. With `chunked` prompts are cut
// to what is left of max_tokens instead (Agrawal et al., "Sarathi-Serve", OSDI 2024, section 4.1). With `kv_memory` a
// request is taken when there is memory for the keys and values of all its tokens, which is set aside until it leaves;
// those behind it wait, too (Orca, section 4.2 and algorithm 1). A request that
// arrives goes to the instance that has the fewest tokens of prompts before it, one that decodes to the instance with
// the fewest requests, of equal ones to the first.
//
// These are decisions of the generator, made from estimates: of computing by the roofline, and of communication by
// bytes over the rate of a rank's network. A trace holds what came of them; how long it takes, runs find out.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "converters/request_stream.h"
#include "converters/serving_model.h"

namespace rankwire {

/// A request's part of a batch: `tokens` of its prompt, or the token after those that it has.
struct BatchPiece {
  uint32_t request = 0;  ///< index among the requests
  int64_t context = 0;   ///< tokens before these
  int64_t tokens = 0;
  bool decodes = false;      ///< one token behind the prompt
  bool gives_token = false;  ///< the next token is known afterwards: the prompt ends here, or it decodes

  bool operator==(const BatchPiece&) const = default;
};

struct Batch {
  Duration start;  ///< as estimated, from the beginning of the job
  std::vector<BatchPiece> pieces;

  int64_t tokens() const;
  int64_t given() const;  ///< tokens that are known afterwards
};

/// What an instance does, and for whom.
struct InstancePlan {
  std::vector<Batch> batches;
};

struct ServingPlan {
  std::vector<InstancePlan> prefill, decode;  ///< by instance; of one pool that does both `prefill` alone
  std::vector<uint32_t> prefill_of;           ///< by request: its instance of `prefill`
  std::vector<uint32_t> decode_of;            ///< by request: of `decode`; meaningless for those of one output token
  /// By request: batches that began without it because memory was full when it was its turn. Empty without kv_memory.
  std::vector<uint32_t> held;
};

/// Throws Error(kInput) where a size exceeds 2^63 - 1, batches would end after more than 10^6 s, or
/// a request has more keys and values than there is memory.
ServingPlan plan_batches(const ServingModel& model, const std::vector<ServedRequest>& requests);

}  // namespace rankwire
