// What nodes say about requests to an inference service, whoever made the trace: attributes that are lists of integers,
// an int64_list or a text such as "[3, 5]".
//
//   request_arrival        numbers of the requests that arrive when the node ends
//   request_input_tokens   beside it: how many tokens each of these has
//   request_held_batches   beside it: how many batches began without each because memory was full when it was its turn
//   request_token          numbers of the requests of which one more output token is known when the node ends
//
// A request is known by its number within its job and iteration. Its first token is the earliest; one that nobody says
// has arrived arrives with the beginning of its job. Each token is told once, by one node of one rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/id.h"

namespace rankwire {

struct TraceNode;

/// One request of one such attribute.
struct RequestMark {
  RankId rank;
  uint32_t place = 0;  ///< of the node in its file, from 0
  int64_t request = 0;
  bool arrives = false;                 ///< else a token is known
  int64_t input_tokens = 0;             ///< of what arrives; 0: not told
  std::optional<int64_t> held_batches;  ///< of what arrives
};

/// Adds those of the node. Throws Error(kInput) naming the node for attributes that are no such lists, or of which one
/// is longer than the other.
void read_request_marks(const TraceNode& in, RankId rank, uint32_t place, std::vector<RequestMark>& marks);

}  // namespace rankwire
