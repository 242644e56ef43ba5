#include "converters/batching.h"

#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

/// All at once, at the beginning.
std::vector<ServedRequest> requests_of(std::initializer_list<std::pair<int64_t, int64_t>> tokens) {
  std::vector<ServedRequest> requests;
  for (const auto& [input, output] : tokens) requests.push_back({.input = input, .output = output});
  return requests;
}

ServingModel mixed(int64_t max_tokens, uint32_t max_requests, bool chunked = false) {
  ServingModel model;
  model.mixed = ServingPool{.max_tokens = max_tokens, .max_requests = max_requests, .chunked = chunked};
  return model;
}

BatchPiece prompt(uint32_t request, int64_t context, int64_t tokens, bool ends = true) {
  return {.request = request, .context = context, .tokens = tokens, .gives_token = ends};
}
BatchPiece next_token(uint32_t request, int64_t context) {
  return {.request = request, .context = context, .tokens = 1, .decodes = true, .gives_token = true};
}

// Request 2 waits for a place, which request 1 leaves after its only token, and is computed beside the second of
// request 0.
TEST(Batching, RequestsComeAndGoBetweenIterations) {
  const ServingPlan plan = plan_batches(mixed(8, 2), requests_of({{5, 2}, {3, 1}, {4, 1}}));
  ASSERT_EQ(plan.prefill.size(), 1u);
  const auto& batches = plan.prefill[0].batches;
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].pieces, ElementsAre(prompt(0, 0, 5), prompt(1, 0, 3)));
  EXPECT_THAT(batches[1].pieces, ElementsAre(next_token(0, 5), prompt(2, 0, 4)));
}

TEST(Batching, APromptThatDoesNotFitWaitsUnlessItIsTheFirst) {
  const auto batches = plan_batches(mixed(8, 4), requests_of({{20, 1}, {5, 1}, {4, 1}})).prefill[0].batches;
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_THAT(batches[0].pieces, ElementsAre(prompt(0, 0, 20)));
  EXPECT_THAT(batches[1].pieces, ElementsAre(prompt(1, 0, 5)));
  EXPECT_THAT(batches[2].pieces, ElementsAre(prompt(2, 0, 4)));
}

// Four tokens a batch: six and three are cut into 4, 2 + 2 and, beside the second token of the first, 1.
TEST(Batching, ChunksFillABatch) {
  const auto batches = plan_batches(mixed(4, 4, true), requests_of({{6, 2}, {3, 1}})).prefill[0].batches;
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_THAT(batches[0].pieces, ElementsAre(prompt(0, 0, 4, false)));
  EXPECT_THAT(batches[1].pieces, ElementsAre(prompt(0, 4, 2), prompt(1, 0, 2, false)));
  EXPECT_THAT(batches[2].pieces, ElementsAre(next_token(0, 6), prompt(1, 2, 1)));
}

// The second prompt goes to the other instance, which has nothing to do, and so does its decoding; the third one to the
// instance with the shorter prompt.
TEST(Batching, InstancesShareTheRequests) {
  ServingModel model;
  model.prefill = ServingPool{.instances = 2};
  model.decode = ServingPool{.instances = 2};
  const ServingPlan plan = plan_batches(model, requests_of({{400, 50}, {300, 50}, {200, 1}}));
  EXPECT_THAT(plan.prefill_of, ElementsAre(0, 1, 1));
  EXPECT_NE(plan.decode_of[0], plan.decode_of[1]);
  size_t tokens = 0;
  for (const InstancePlan& instance : plan.decode)
    for (const Batch& batch : instance.batches) tokens += static_cast<size_t>(batch.given());
  EXPECT_EQ(tokens, 98u);  // 49 behind the first one of each; the third request has no more than its first
}

// A cached prefix is context from the beginning.
TEST(Batching, PrefixesAreNotComputed) {
  std::vector<ServedRequest> requests = requests_of({{10, 1}});
  requests[0].cached = 4;
  EXPECT_THAT(plan_batches(mixed(8, 2), requests).prefill[0].batches.at(0).pieces, ElementsAre(prompt(0, 4, 6)));
}

// A token has 2 x 8 heads / 2 shards x 128 elements x 4 layers x 2 bytes = 8,192 bytes at a rank. With room for 10 of
// them: request 0 keeps 4 + 3 - 1 = 6, request 1 the other 4, and request 2, whose turn is the next, 5. Batches 0 to
// 2 begin without it: the 4 that request 1 leaves after batch 0 are too few. Request 3, which would fit, does not
// overtake.
TEST(Batching, RequestsWaitForMemory) {
  ServingModel model = mixed(100, 8);
  model.mixed->kv_memory = Bytes(10 * 8'192);
  const ServingPlan plan = plan_batches(model, requests_of({{4, 3}, {4, 1}, {5, 1}, {2, 1}}));
  const auto& batches = plan.prefill[0].batches;
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_THAT(batches[0].pieces, ElementsAre(prompt(0, 0, 4), prompt(1, 0, 4)));
  EXPECT_THAT(batches[1].pieces, ElementsAre(next_token(0, 4)));
  EXPECT_THAT(batches[2].pieces, ElementsAre(next_token(0, 5)));
  EXPECT_THAT(batches[3].pieces, ElementsAre(prompt(2, 0, 5), prompt(3, 0, 2)));
  EXPECT_THAT(plan.held, ElementsAre(0, 0, 3, 0));
  expect_refused("inference.mixed.kv_memory: request 0 has keys and values of 11 tokens, but 81920 B have room for 10",
                 [&] {
                   plan_batches(model, requests_of({{11, 1}}));
                 });
}

// Replicas have memory of their own: with two, requests 0 and 2 are at the first and 1 at the second.
TEST(Batching, EachReplicaHasItsMemory) {
  ServingModel model = mixed(100, 8);
  model.experts = 2;
  model.mixed->expert_parallel = 2, model.mixed->kv_memory = Bytes(5 * 8'192);
  const ServingPlan plan = plan_batches(model, requests_of({{4, 1}, {4, 1}, {4, 1}}));
  EXPECT_THAT(plan.prefill[0].batches.at(0).pieces, ElementsAre(prompt(0, 0, 4), prompt(1, 0, 4)));
  EXPECT_THAT(plan.held, ElementsAre(0, 0, 1));
}

TEST(Batching, NothingBeginsBeforeItArrives) {
  std::vector<ServedRequest> requests = requests_of({{10, 1}, {10, 1}});
  requests[1].arrival = seconds(3);
  const auto batches = plan_batches(mixed(100, 2), requests).prefill[0].batches;
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].start, Duration());
  EXPECT_EQ(batches[1].start, seconds(3));
}

}  // namespace
}  // namespace rankwire
