// What the ranks of an inference service send, against the formulas of docs/inference.md.
#include "converters/inference.h"

#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

/// One request of ten tokens, of which three more are made, of a model of two layers of 64: ranks 0 and 1 compute the
/// prompt, 2 to 5 the two tokens behind the first.
ServingModel small_service() {
  ServingModel model{.layers = 2, .hidden = 64, .vocabulary = 100};
  model.attention = {.heads = 8, .kv_heads = 4, .head_dim = 8};
  model.prefill = ServingPool{.tensor_parallel = 2};
  model.decode = ServingPool{.tensor_parallel = 4};
  model.requests = {.requests = 1, .input = {.mean = 10}, .output = {.mean = 3}};
  return model;
}

class Inference : public ::testing::Test {
 protected:
  std::vector<std::vector<WrittenNode>> generate(const ServingModel& model) {
    const GeneratedTraces traces = generate_inference(model, prefix_);
    expect_valid(traces, prefix_);
    return read_generated(traces, prefix_);
  }
  std::vector<RequestMark> marks() {
    WorkloadOptions options;
    options.traces = {prefix_};
    options.groups_file = prefix_ + ".json";
    Warnings warnings;
    return load_workload(options, warnings).marks;
  }

  TemporaryFolder folder_;
  const std::string prefix_ = folder_ / "service";
};

/// Bytes of the rank's sends, in file order, by destination.
std::map<int64_t, std::vector<int64_t>> sends_of(const std::vector<WrittenNode>& nodes) {
  std::map<int64_t, std::vector<int64_t>> sends;
  for (const WrittenNode& node : nodes)
    if (node.type == chakra::COMM_SEND_NODE) sends[node.destination].push_back(node.size);
  return sends;
}

// A prompt of 10 tokens: 1 + 2 x 2 all-reduces of 10 x 64 elements of 2 bytes, and the logits of one token, half of a
// vocabulary of 100. Then two batches of one token, and a quarter of the logits.
TEST_F(Inference, ReducesTheTokensOfEachBatch) {
  const auto ranks = generate(small_service());
  ASSERT_EQ(ranks.size(), 6u);
  for (const uint32_t rank : {0u, 1u}) {
    const std::map<std::string, Amount> expected = {{"prefill0.tp0 ALL_REDUCE", {5, 1280}},
                                                    {"prefill0.tp0 ALL_GATHER", {1, 100}}};
    EXPECT_EQ(collectives_of(ranks[rank]), expected);
  }
  for (const uint32_t rank : {2u, 3u, 4u, 5u}) {
    const std::map<std::string, Amount> expected = {{"decode0.tp0 ALL_REDUCE", {10, 128}},
                                                    {"decode0.tp0 ALL_GATHER", {2, 50}}};
    EXPECT_EQ(collectives_of(ranks[rank]), expected);
  }
}

// Each of the shards that decode has one of four heads: 2 x 8 elements x 10 tokens x 2 layers x 2 bytes.
TEST_F(Inference, KeysAndValuesGoToTheShardsOfTheirHeads) {
  const auto ranks = generate(small_service());
  using Sends = std::map<int64_t, std::vector<int64_t>>;
  EXPECT_EQ(sends_of(ranks[0]), (Sends{{2, {640}}, {3, {640}}}));
  EXPECT_EQ(sends_of(ranks[1]), (Sends{{4, {640}}, {5, {640}}}));
  const WrittenNode& send = node_named(ranks[0], "request0.kv.send");
  EXPECT_THAT(send.after, ElementsAre(node_named(ranks[0], "batch0.logits.all_gather").id));
  const WrittenNode& first = node_named(ranks[2], "batch0.embedding");
  EXPECT_TRUE(depends(ranks[2], first, node_named(ranks[2], "request0.kv.receive")));
}

// In chunks of 6 and 4 tokens: 2 x 8 elements x 2 bytes of each token, layer by layer.
TEST_F(Inference, KeysAndValuesGoLayerByLayer) {
  ServingModel model = small_service();
  model.prefill->max_tokens = 6, model.prefill->max_requests = 6, model.prefill->chunked = true;
  model.kv_transfer = KvTransfer::kLayers;
  const auto ranks = generate(model);
  EXPECT_THAT(sends_of(ranks[0]).at(3), ElementsAre(192, 192, 128, 128));
  const WrittenNode& send = node_named(ranks[0], "request0.kv.layer1.send");
  EXPECT_THAT(send.after, ElementsAre(node_named(ranks[0], "batch0.layer1.attention").id));
}

// Half of the prompt is cached: 5 tokens are computed. Each of two shards fetches 2 heads x 2 x 8 elements x 5 tokens x
// 2 layers x 2 bytes, and all ten tokens are needed for what follows.
TEST_F(Inference, PrefixesAreFetchedInstead) {
  ServingModel model = small_service();
  model.cache_ranks = 1, model.requests.hit_ppm = 1'000'000;
  const auto ranks = generate(model);
  ASSERT_EQ(ranks.size(), 7u);
  using Sends = std::map<int64_t, std::vector<int64_t>>;
  EXPECT_EQ(sends_of(ranks[6]), (Sends{{0, {640}}, {1, {640}}}));
  EXPECT_EQ(sends_of(ranks[0]), (Sends{{2, {640}}, {3, {640}}}));
  EXPECT_EQ(collectives_of(ranks[0]).at("prefill0.tp0 ALL_REDUCE"), (Amount{5, 640}));
  const WrittenNode& prefix = node_named(ranks[0], "request0.prefix.receive");
  EXPECT_TRUE(depends(ranks[0], node_named(ranks[0], "batch0.embedding"), prefix));
}

// The same 1280 bytes of both shards are read at 1 MB/s before they leave.
TEST_F(Inference, CacheRanksReadPrefixes) {
  ServingModel model = small_service();
  model.cache_ranks = 1, model.requests.hit_ppm = 1'000'000, model.cache_bandwidth = Bandwidth(8'000'000);
  const auto ranks = generate(model);
  const WrittenNode& read = node_named(ranks[6], "request0.prefix.read");
  EXPECT_EQ(read.micros, 1'280u);
  EXPECT_TRUE(depends(ranks[6], node_named(ranks[6], "request0.prefix.send"), read));
}

// 640 bytes at 1 MB/s, and nothing is sent.
TEST_F(Inference, PrefixesThatAreNearAreLoaded) {
  ServingModel model = small_service();
  model.cache_ranks = 1, model.requests.hit_ppm = 1'000'000;
  model.requests.local_ppm = 1'000'000, model.local_cache_bandwidth = Bandwidth(8'000'000);
  const auto ranks = generate(model);
  EXPECT_TRUE(sends_of(ranks[6]).empty());
  EXPECT_EQ(collectives_of(ranks[1]).at("prefill0.tp0 ALL_REDUCE"), (Amount{5, 640}));
  const WrittenNode& load = node_named(ranks[1], "request0.prefix.load");
  EXPECT_EQ(load.type, chakra::MEM_LOAD_NODE);
  EXPECT_EQ(load.micros, 640u);
  EXPECT_TRUE(depends(ranks[1], node_named(ranks[1], "batch0.embedding"), load));
}

// (16 + 4) elements x 10 tokens x 2 layers x 2 bytes, to every shard.
TEST_F(Inference, ALatentGoesWholeToEachShard) {
  ServingModel model = small_service();
  model.attention.latent = 16, model.attention.rope = 4;
  const auto ranks = generate(model);
  using Sends = std::map<int64_t, std::vector<int64_t>>;
  EXPECT_EQ(sends_of(ranks[0]), (Sends{{2, {800}}, {4, {800}}}));
  EXPECT_EQ(sends_of(ranks[1]), (Sends{{3, {800}}, {5, {800}}}));
}

// Ten tokens over two replicas are 5 each, which go to 2 experts each: 5 x 2 x 64 elements of 2 bytes there and back,
// in each of two layers. The request is at replica 0 of either instance.
TEST_F(Inference, TokensGoToTheirExperts) {
  ServingModel model = small_service();
  model.experts = 4, model.experts_per_token = 2;
  model.prefill = ServingPool{.tensor_parallel = 2, .expert_parallel = 2};
  model.decode = ServingPool{.tensor_parallel = 1, .expert_parallel = 4};
  const auto ranks = generate(model);
  ASSERT_EQ(ranks.size(), 8u);
  EXPECT_EQ(collectives_of(ranks[3]).at("prefill0.ep1 ALL_TO_ALL"), (Amount{4, 1280}));
  EXPECT_EQ(collectives_of(ranks[3]).at("prefill0.tp1 ALL_REDUCE"), (Amount{5, 640}));
  EXPECT_EQ(collectives_of(ranks[7]).at("decode0.ep0 ALL_TO_ALL"), (Amount{8, 256}));
  using Sends = std::map<int64_t, std::vector<int64_t>>;
  EXPECT_EQ(sends_of(ranks[1]), (Sends{{4, {1280}}}));
  EXPECT_TRUE(sends_of(ranks[2]).empty());
}

// The first layer is dense; in the second, 5 tokens of either replica have 2 of 4 experts each, and rank 0's experts
// are by far the most popular: 10 choices of every replica in all, of 64 elements of 2 bytes.
TEST_F(Inference, TokensChooseTheirExperts) {
  ServingModel model = small_service();
  model.experts = 4, model.experts_per_token = 2, model.expert_ffn = 32;
  model.shared_experts = 1, model.dense_layers = 1;
  model.routing = {.popularity = RoutingModel::Popularity::kZipf, .exponent = 3};
  model.prefill = ServingPool{.tensor_parallel = 1, .expert_parallel = 2};
  const auto ranks = generate(model);
  int64_t all = 0;
  for (const uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(collectives_of(ranks[rank]).at("prefill0.ep0 ALL_TO_ALL").count, 2);
    EXPECT_EQ(node_named(ranks[rank], "batch0.layer1.dispatch.all_to_all").size, 10 * 64 * 2);
    all += node_named(ranks[rank], "batch0.layer1.combine.all_to_all").size;
  }
  EXPECT_EQ(all, 2 * 10 * 64 * 2);  // what has come goes back
  EXPECT_NE(node_named(ranks[0], "batch0.layer1.combine.all_to_all").size, all / 2);
  const auto& nodes = ranks[0];
  const WrittenNode& shared = node_named(nodes, "batch0.layer1.shared");
  EXPECT_THAT(shared.after, ElementsAre(node_named(nodes, "batch0.layer1.router").id));
  const WrittenNode& experts = node_named(nodes, "batch0.layer1.mlp");
  EXPECT_TRUE(depends(nodes, experts, shared));
  EXPECT_TRUE(depends(nodes, experts, node_named(nodes, "batch0.layer1.dispatch.all_to_all")));
}

// Three quarters of the choices go to rank 0, as in the file: of 10 by each replica 7.5, by largest remainders 8 (the
// first of equal ones).
TEST_F(Inference, RecordedTokensAreProportions) {
  ServingModel model = small_service();
  model.experts = 4, model.experts_per_token = 2, model.layers = 1;
  const std::string file = folder_ / "tokens.csv";
  std::ofstream(file) << "300,100\n3,1\n";
  model.routing = {.popularity = RoutingModel::Popularity::kRecorded, .file = file};
  model.mixed = ServingPool{.tensor_parallel = 1, .expert_parallel = 2};
  model.prefill = model.decode = std::nullopt;
  const auto ranks = generate(model);
  EXPECT_EQ(node_named(ranks[0], "batch0.layer0.combine.all_to_all").size, 16 * 64 * 2);
  EXPECT_EQ(node_named(ranks[1], "batch0.layer0.combine.all_to_all").size, 4 * 64 * 2);
  std::ofstream(file) << "0,0\n3,1\n";
  expect_refused("row 1 has no tokens", [&] { generate_inference(model, prefix_); });
}

TEST_F(Inference, PoolsOfDifferentSizesTakeTheTokensOfEachExpertAlone) {
  ServingModel model = small_service();
  model.experts = 4, model.experts_per_token = 2, model.layers = 1;
  const std::string file = folder_ / "tokens.csv";
  model.routing = {.popularity = RoutingModel::Popularity::kRecorded, .file = file};
  model.prefill = ServingPool{.tensor_parallel = 1, .expert_parallel = 4};
  model.decode = ServingPool{.tensor_parallel = 1, .expert_parallel = 2};
  for (const char* matrix : {"1,2\n3,4\n", "1,2,3,4\n1,2,3,4\n1,2,3,4\n1,2,3,4\n"}) {
    std::ofstream(file) << matrix;
    expect_refused("no matrix from rank to rank suits both expert_parallel 4 and 2",
                   [&] { generate_inference(model, prefix_); });
  }
  std::ofstream(file) << "1,2,3,4\n";
  EXPECT_EQ(generate(model).size(), 6u);
}

TEST_F(Inference, OnePoolSendsNoKeysAndValues) {
  ServingModel model = small_service();
  model.mixed = model.prefill;
  model.prefill = model.decode = std::nullopt;
  const auto ranks = generate(model);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_TRUE(sends_of(ranks[0]).empty());
  // The prompt, and two batches of one token, 1 x 64 x 2 bytes.
  EXPECT_EQ(collectives_of(ranks[1]).at("mixed0.tp0 ALL_REDUCE"), (Amount{15, -1}));
  EXPECT_EQ(collectives_of(ranks[1]).at("mixed0.tp0 ALL_GATHER"), (Amount{3, 100}));
}

// The host's chain ends at the times of arrival, which whole microseconds tell exactly.
TEST_F(Inference, ArrivalsAreAChainOfTheHost) {
  ServingModel model = small_service();
  model.requests.requests = 5;
  const auto ranks = generate(model);
  const std::vector<ServedRequest> requests = make_requests(model.requests);
  for (const uint32_t rank : {0u, 2u}) {
    Duration now;
    for (uint32_t r = 0; r < 5; ++r) {
      const WrittenNode& node = node_named(ranks[rank], fmt::format("request{}.arrival", r));
      EXPECT_TRUE(node.on_host);
      EXPECT_EQ(node.after.size(), r == 0 ? 0u : 1u);
      now += microseconds(static_cast<int64_t>(node.micros));
      EXPECT_EQ(now, requests[r].arrival);
    }
  }
}

TEST_F(Inference, NodesTellWhatBecomesOfRequests) {
  ServingModel model = small_service();
  model.requests.requests = 2;
  generate(model);
  std::map<int64_t, int> arrivals, prompts, decoded;
  for (const RequestMark& mark : marks()) {
    EXPECT_EQ(mark.input_tokens, mark.arrives ? 10 : 0);
    EXPECT_FALSE(mark.held_batches);
    ++(mark.arrives ? arrivals : mark.rank == RankId(0) ? prompts : decoded)[mark.request];
    EXPECT_TRUE(mark.rank == RankId(0) || mark.rank == RankId(2));
  }
  const std::map<int64_t, int> once = {{0, 1}, {1, 1}}, twice = {{0, 2}, {1, 2}};
  EXPECT_EQ(arrivals, once);
  EXPECT_EQ(prompts, once);
  EXPECT_EQ(decoded, twice);
}

// A shard has 4 heads of queries and 2 of keys and values: 64 x (32 + 2 x 16) + 32 x 64 = 6,144 parameters, 2 x 10 x
// 6,144 = 122,880 flops; and 4 x 4 x 8 = 128 flops of each of 10 x 11 / 2 pairs: 7,040. At 1 Mflop/s that is 129,920
// us.
TEST_F(Inference, ComputesAsLongAsTheRooflineSays) {
  ServingModel model = small_service();
  model.peak_flops = 1'000'000;
  const auto ranks = generate(model);
  EXPECT_NEAR(static_cast<double>(node_named(ranks[0], "batch0.layer0.attention").micros), 129'920, 1);
}

TEST_F(Inference, EqualModelsGiveEqualBytes) {
  ServingModel model = small_service();
  model.requests.requests = 8;
  generate_inference(model, prefix_);
  const std::string other = folder_ / "again";
  generate_inference(model, other);
  const auto bytes_of = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (uint32_t rank = 0; rank < 6; ++rank)
    EXPECT_EQ(bytes_of(trace_file(prefix_, rank)), bytes_of(trace_file(other, rank)));
}

TEST_F(Inference, RefusesWhatCannotBeServed) {
  const auto refuse = [&](const char* text, auto change) {
    ServingModel other = small_service();
    change(other);
    expect_refused(text, [&] { generate_inference(other, prefix_); });
  };
  refuse("inference: has no decode pool", [](ServingModel& m) { m.decode.reset(); });
  refuse("inference: has no prefill pool", [](ServingModel& m) { m.prefill.reset(); });
  refuse("has a mixed pool beside prefill or decode", [](ServingModel& m) { m.mixed = m.prefill; });
  refuse("inference: kv_heads 3 and tensor_parallel 2: one must be a multiple of the other",
         [](ServingModel& m) { m.attention.kv_heads = 3, m.attention.heads = 12; });
  refuse("inference decode: max_tokens 8 is below max_requests 64", [](ServingModel& m) { m.decode->max_tokens = 8; });
  refuse("inference prefill: experts 1 is not a multiple of expert_parallel 2",
         [](ServingModel& m) { m.prefill->expert_parallel = 2; });
  refuse("requests hit a cache that has no ranks", [](ServingModel& m) { m.requests.hit_ppm = 1; });
  refuse("a rate of 0", [](ServingModel& m) { m.requests.rate = 0; });
  refuse("nodes, the most is 20000000", [](ServingModel& m) { m.layers = 10'000, m.requests.output.mean = 1'000; });
  refuse("batches end later than after 10^6 s",
         [](ServingModel& m) { m.peak_flops = 1, m.requests.input.mean = 1'000; });
}

}  // namespace
}  // namespace rankwire
