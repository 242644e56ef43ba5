#include "converters/serving_instance.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/stop.h"

namespace rankwire {
namespace {

constexpr Duration kLatestStep = seconds(1'000'000);

}  // namespace

void ServingInstance::add(const WaitingRequest& request) {
  const auto behind = std::ranges::upper_bound(waiting_, request.ready, {}, &WaitingRequest::ready);
  waiting_.insert(behind, request);
  prompt_tokens_ += request.prompt_left;
}

void ServingInstance::advance(Duration until) {
  while (requests() > 0) {
    check_stop();
    const Duration start = running_.empty() ? std::max(free_, waiting_.front().ready) : free_;
    if (start >= until) return;
    free_ = start;
    Batch batch = next_batch();
    free_ += cost_.estimate(batch);
    if (free_ > kLatestStep)
      fail_input("inference.memory_bandwidth: batches end later than after 10^6 s; raise it and peak");
    end(batch);
    batches_.push_back(std::move(batch));
  }
}

Batch ServingInstance::next_batch() {
  Batch batch{.start = free_, .pieces = {}};
  int64_t left = pool_.max_tokens;
  for (const WaitingRequest& request : running_) {
    if (request.prompt_left > 0) continue;
    batch.pieces.push_back(
        {.request = request.request, .context = request.context, .tokens = 1, .decodes = true, .gives_token = true});
    --left;
  }
  admit(batch, left);
  return batch;
}

/// Adds prompts, and requests that come with theirs computed.
void ServingInstance::admit(Batch& batch, int64_t left) {
  bool has_prompt = false;
  const auto take = [&](const WaitingRequest& request) {
    const bool decodes = request.prompt_left == 0;
    int64_t tokens = decodes ? 1 : request.prompt_left;
    if (!decodes && pool_.chunked) tokens = std::min(tokens, left);
    const bool alone = !decodes && !has_prompt;
    if (tokens < 1 || (tokens > left && !alone)) return false;
    has_prompt |= !decodes;
    left -= tokens;
    batch.pieces.push_back({.request = request.request,
                            .context = request.context,
                            .tokens = tokens,
                            .decodes = decodes,
                            .gives_token = decodes || tokens == request.prompt_left});
    return true;
  };
  for (const WaitingRequest& request : running_)
    if (request.prompt_left > 0 && !take(request)) return;
  while (running_.size() < pool_.max_requests && !waiting_.empty() && waiting_.front().ready <= batch.start &&
         has_room_for_next() && take(waiting_.front())) {
    kept(waiting_.front().request) += waiting_.front().kept_tokens();
    running_.push_back(waiting_.front());
    waiting_.pop_front();
  }
}

/// Else notes that the one whose turn it is waits for memory.
bool ServingInstance::has_room_for_next() {
  const WaitingRequest& next = waiting_.front();
  if (kept(next.request) + next.kept_tokens() <= cost_.most_kept()) return true;
  if (held_.empty() || held_.back().request != next.request) held_.push_back({.request = next.request, .batches = 0});
  ++held_.back().batches;
  return false;
}

void ServingInstance::end(const Batch& batch) {
  for (const BatchPiece& piece : batch.pieces) {
    WaitingRequest& request = *std::ranges::find(running_, piece.request, &WaitingRequest::request);
    request.context += piece.tokens;
    if (piece.decodes) {
      --request.decodes_left;
    } else {
      request.prompt_left -= piece.tokens;
      prompt_tokens_ -= piece.tokens;
      if (piece.gives_token) first_tokens_.push_back({piece.request, free_});
    }
  }
  std::erase_if(running_, [&](const WaitingRequest& r) {
    const bool done = r.prompt_left == 0 && r.decodes_left == 0;
    if (done) kept(r.request) -= r.kept_tokens();
    return done;
  });
}

}  // namespace rankwire
