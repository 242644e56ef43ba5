// What training ranks exchange with storage ranks.
#include "converters/storage.h"

#include <algorithm>
#include <numeric>

#include "converters/dlrm.h"
#include "converters/mlp.h"
#include "converters/transformer.h"
#include "converters/transformer_state.h"
#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

StorageTraffic one_file(StorageModel::Placement placement, Bytes size) {
  return {.model = {.ranks = 3, .placement = placement, .stripe = Bytes(1024), .every = 1},
          .trainers = 2,
          .steps = 8,
          .samples = {Bytes(0), Bytes(0)},
          .written = {{}, {{.writer = 1, .number = 0, .size = size}}},
          .restored = {}};
}

std::vector<int64_t> written(const StorageTraffic& traffic, uint32_t step) {
  std::vector<int64_t> bytes;
  for (uint32_t storage = 0; storage < traffic.model.ranks; ++storage)
    bytes.push_back(traffic.written_at(1, step, storage).count);
  return bytes;
}

// Stripes 0 to 6 and 100 bytes more go round from storage rank (1 + 0 + 1) mod 3 on, where 0, 3 and 6 are.
TEST(Storage, StripesGoRound) {
  const StorageTraffic traffic = one_file(StorageModel::Placement::kStriped, Bytes(7 * 1024 + 100));
  EXPECT_THAT(written(traffic, 0), ElementsAre(2 * 1024 + 100, 2 * 1024, 3 * 1024));
  EXPECT_THAT(written(traffic, 1), ElementsAre(3 * 1024, 2 * 1024 + 100, 2 * 1024));
  EXPECT_THAT(written(one_file(StorageModel::Placement::kStriped, Bytes(1)), 0), ElementsAre(0, 0, 1));
}

TEST(Storage, AHashChoosesOneRankForEachFile) {
  const StorageTraffic traffic = one_file(StorageModel::Placement::kHashed, Bytes(5000));
  std::vector<int64_t> sums(3);
  for (uint32_t step = 0; step < traffic.steps; ++step) {
    const std::vector<int64_t> bytes = written(traffic, step);
    EXPECT_EQ(std::ranges::count(bytes, 5000), 1);
    for (size_t i = 0; i < 3; ++i) sums[i] += bytes[i];
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), 8 * 5000);
  EXPECT_GT(std::ranges::count_if(sums, [](int64_t sum) { return sum > 0; }), 1);
}

/// Two layers of 12 x 64^2 = 49,152 parameters, as many as the embedding has; four replicas.
constexpr int64_t kLayer = 49'152;
TransformerModel four_replicas(uint32_t zero) {
  TransformerModel model;
  model.layers = 2;
  model.hidden = 64, model.sequence = 32, model.vocabulary = 768;
  model.micro_batches = 2;
  model.tensor_parallel = 1, model.data_parallel = 4;
  model.zero = zero;
  model.steps = 4;
  model.storage = {.ranks = 2, .stripe = Bytes(4096), .every = 2, .restore = true};
  return model;
}

int64_t bytes_of(const std::vector<StateFile>& files) {
  int64_t sum = 0;
  for (const StateFile& file : files) sum += file.size.count;
  return sum;
}

std::vector<int64_t> written_by_rank(const StorageTraffic& traffic) {
  std::vector<int64_t> bytes;
  for (const std::vector<StateFile>& files : traffic.written) bytes.push_back(bytes_of(files));
  return bytes;
}

// 2 bytes of weights and 12 of optimizer state a parameter.
TEST(TransformerStorage, TheFirstReplicaWritesWhatIsNotDivided) {
  EXPECT_THAT(written_by_rank(transformer_storage(four_replicas(0))), ElementsAre(14 * 3 * kLayer, 0, 0, 0));
  const int64_t part = 12 * 2 * kLayer / 4;  // of the layers' optimizer state; the embedding's is not divided
  for (const uint32_t zero : {1, 2}) {
    EXPECT_THAT(written_by_rank(transformer_storage(four_replicas(zero))),
                ElementsAre(2 * 3 * kLayer + part + 12 * kLayer, part, part, part));
  }
  const int64_t quarter = 14 * 3 * kLayer / 4;
  EXPECT_THAT(written_by_rank(transformer_storage(four_replicas(3))), ElementsAre(quarter, quarter, quarter, quarter));
}

TEST(TransformerStorage, AllReplicasWriteAsMuch) {
  for (const uint32_t zero : {0, 1, 2, 3}) {
    TransformerModel model = four_replicas(zero);
    model.storage.writers = StorageModel::Writers::kAll;
    const int64_t quarter = 14 * 3 * kLayer / 4;
    EXPECT_THAT(written_by_rank(transformer_storage(model)), ElementsAre(quarter, quarter, quarter, quarter)) << zero;
  }
}

// What a rank keeps: all weights below stage 3.
TEST(TransformerStorage, EachRankReadsWhatItKeeps) {
  const int64_t kept[] = {14 * 3 * kLayer, 2 * 3 * kLayer + 12 * (2 * kLayer / 4 + kLayer),
                          2 * 3 * kLayer + 12 * (2 * kLayer / 4 + kLayer), 14 * 3 * kLayer / 4};
  for (const uint32_t zero : {0, 1, 2, 3}) {
    for (const auto writers : {StorageModel::Writers::kFirst, StorageModel::Writers::kAll}) {
      TransformerModel model = four_replicas(zero);
      model.storage.writers = writers;
      const StorageTraffic traffic = transformer_storage(model);
      for (uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(bytes_of(traffic.restored(rank)), kept[zero]) << zero;
    }
  }
}

// Each parameter is in a checkpoint once, however the model is divided: of two layers' experts 4 x 2 x 64 x 256 =
// 131,072 parameters, of their attention and router 4 x 64^2 + 4 x 64 = 16,640, and the embedding.
class WholeCheckpoint : public ::testing::TestWithParam<PipelineOrder> {};
TEST_P(WholeCheckpoint, HasEachParameterOnce) {
  for (const auto order : {TransformerModel::Order::kTensorData, TransformerModel::Order::kDataTensor}) {
    for (const uint32_t zero : {0, 1, 2, 3}) {
      for (const auto writers : {StorageModel::Writers::kFirst, StorageModel::Writers::kAll}) {
        TransformerModel model = four_replicas(zero);
        model.pipeline = GetParam(), model.micro_batches = 4;
        model.pipeline_parallel = 2, model.context_parallel = 2;
        model.experts = 4, model.expert_parallel = 2;
        model.shard_replicas = zero == 0 ? 1 : 2;
        model.order = order;
        model.storage.writers = writers;
        const StorageTraffic traffic = transformer_storage(model);
        const std::vector<int64_t> bytes = written_by_rank(traffic);
        EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), int64_t{0}), 14 * (2 * (131'072 + 16'640) + kLayer));
        // What is read has been written.
        for (uint32_t rank = 0; rank < traffic.trainers; ++rank) {
          for (const StateFile& file : traffic.restored(rank))
            EXPECT_EQ(std::ranges::count(traffic.written[file.writer], file), 1) << rank;
        }
      }
    }
  }
}
// With DualPipe a stage and its opposite both have the layers of either.
INSTANTIATE_TEST_SUITE_P(All, WholeCheckpoint,
                         ::testing::Values(PipelineOrder::kOneForwardOneBackward, PipelineOrder::kDualPipe));

class StorageTraces : public ::testing::Test {
 protected:
  template <class Model>
  std::vector<std::vector<WrittenNode>> generate(const Model& model) {
    const std::string prefix = folder_ / ("set" + std::to_string(sets_++));
    const GeneratedTraces traces = write(model, prefix);
    expect_valid(traces, prefix);
    std::vector<std::vector<WrittenNode>> ranks;
    for (uint32_t rank = 0; rank < traces.ranks; ++rank) ranks.push_back(read_written(trace_file(prefix, rank)));
    return ranks;
  }
  static GeneratedTraces write(const TransformerModel& model, const std::string& prefix) {
    return generate_transformer(model, prefix);
  }
  static GeneratedTraces write(const MlpModel& model, const std::string& prefix) { return generate_mlp(model, prefix); }
  static GeneratedTraces write(const DlrmModel& model, const std::string& prefix) {
    return generate_dlrm(model, prefix);
  }
  /// Of all that the ranks send or receive by a name.
  static std::vector<int64_t> bytes_of(const std::vector<std::vector<WrittenNode>>& ranks, const std::string& name) {
    std::vector<int64_t> bytes;
    for (const auto& nodes : ranks) {
      bytes.push_back(0);
      for (const WrittenNode& node : nodes) bytes.back() += node.name == name ? node.size : 0;
    }
    return bytes;
  }
  static bool follows(const std::vector<WrittenNode>& nodes, const std::string& later, const std::string& earlier) {
    return depends(nodes, node_named(nodes, later), node_named(nodes, earlier));
  }

  TemporaryFolder folder_;
  int sets_ = 0;
};

TEST_F(StorageTraces, ACheckpointIsWaitedFor) {
  const auto ranks = generate(four_replicas(1));
  ASSERT_EQ(ranks.size(), 6u);
  EXPECT_TRUE(follows(ranks[0], "step1.checkpoint.storage1.send", "step1.layer1.parameter.all_gather"));
  EXPECT_TRUE(follows(ranks[0], "step2.mb0.embedding.fwd", "step1.checkpoint.storage1.stored"));
  EXPECT_TRUE(follows(ranks[0], "step0.mb0.embedding.fwd", "restore.storage0.receive"));
  EXPECT_TRUE(follows(ranks[4], "step1.checkpoint.rank0.stored", "step1.checkpoint.rank0.receive"));
}

TEST_F(StorageTraces, AnAsynchronousOneIsNot) {
  TransformerModel model = four_replicas(3);
  model.storage.asynchronous = true, model.storage.copy = Bandwidth(8'000'000'000);
  const auto ranks = generate(model);
  EXPECT_FALSE(follows(ranks[0], "step3.optimizer.step", "step1.checkpoint.storage0.stored"));
  EXPECT_TRUE(follows(ranks[0], "step2.mb0.embedding.fwd", "step1.checkpoint.copy"));
  // The next one takes its place.
  EXPECT_TRUE(follows(ranks[0], "step3.checkpoint.copy", "step1.checkpoint.storage0.stored"));
  // A quarter of the state, 516,096 B at 1 GB/s, rounded up.
  EXPECT_EQ(node_named(ranks[0], "step1.checkpoint.copy").micros, 517u);
}

TEST_F(StorageTraces, SamplesAreAskedForAhead) {
  TransformerModel model = four_replicas(0);
  model.tensor_parallel = 2, model.data_parallel = 1;
  model.storage = {.ranks = 1, .bandwidth = Bandwidth(8'000'000), .sample = Bytes(500), .prefetch = 1};
  const auto ranks = generate(model);
  EXPECT_TRUE(follows(ranks[0], "step2.samples.storage0.ask", "step0.optimizer.step"));
  EXPECT_FALSE(follows(ranks[0], "step2.samples.storage0.ask", "step1.optimizer.step"));
  EXPECT_TRUE(follows(ranks[0], "step2.mb0.embedding.fwd", "step2.samples.storage0.receive"));
  // Of both micro-batches; the other shard has them from the first.
  EXPECT_EQ(node_named(ranks[0], "step0.samples.storage0.receive").size, 1000);
  const WrittenNode& broadcast = node_named(ranks[1], "step0.samples.broadcast");
  EXPECT_EQ(broadcast.size, 1000);
  EXPECT_EQ(broadcast.root, 0);
  EXPECT_EQ(std::ranges::count(ranks[1], chakra::COMM_SEND_NODE, &WrittenNode::type), 0);
  // 1000 B at 1 MB/s.
  EXPECT_EQ(node_named(ranks[2], "step0.samples.rank0.read").micros, 1000u);
}

// A shard has 3 x 64 x 32 = 6,144 parameters of 2 + 12 bytes, which both replicas keep. Ranks 0 and 1 are the first
// one.
TEST_F(StorageTraces, OfAPerceptronHaveEachShardOnce) {
  MlpModel model{.layers = 3, .width = 64, .batch = 10, .steps = 2};
  model.storage = {.ranks = 1, .sample = Bytes(100), .every = 1, .restore = true};
  const auto ranks = generate(model);
  EXPECT_THAT(bytes_of(ranks, "step0.checkpoint.storage0.send"), ElementsAre(86'016, 86'016, 0, 0, 0));
  EXPECT_THAT(bytes_of(ranks, "restore.storage0.receive"), ElementsAre(86'016, 86'016, 86'016, 86'016, 0));
  EXPECT_THAT(bytes_of(ranks, "step1.samples.storage0.receive"), ElementsAre(1'000, 0, 1'000, 0, 0));
  const WrittenNode& broadcast = node_named(ranks[3], "step1.samples.broadcast");
  EXPECT_EQ(broadcast.root, 2);
  EXPECT_EQ(broadcast.size, 1'000);
  EXPECT_TRUE(follows(ranks[3], "step1.layer0.fwd", "step1.samples.broadcast"));
  EXPECT_TRUE(follows(ranks[0], "step0.checkpoint.storage0.send", "step0.optimizer.step"));
  EXPECT_TRUE(follows(ranks[0], "step1.layer0.fwd", "step0.checkpoint.storage0.stored"));
  model.storage.writers = StorageModel::Writers::kAll;
  model.order = MlpModel::Order::kModelData;
  EXPECT_THAT(bytes_of(generate(model), "step0.checkpoint.storage0.send"),
              ElementsAre(43'008, 43'008, 43'008, 43'008, 0));
}

// 336,640 parameters of the MLPs (Dlrm.ReducesTheGradientsOfEachLayerOnce) of 4 + 12 bytes, which all keep; and of each
// rank two tables of 1,000 x 64 elements of 4 bytes.
TEST_F(StorageTraces, OfARecommendationModelHaveTheTablesOfEachRank) {
  DlrmModel model;
  model.rows = 1'000;
  model.storage = {.ranks = 2, .sample = Bytes(10), .every = 1, .restore = true};
  const auto ranks = generate(model);
  const auto both = [&](const std::string& what, const std::string& part) {
    std::vector<int64_t> sums = bytes_of(ranks, what + ".storage0." + part);
    const std::vector<int64_t> others = bytes_of(ranks, what + ".storage1." + part);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
    return sums;
  };
  const int64_t mlps = 16 * 336'640, tables = 512'000;
  EXPECT_THAT(both("checkpoint", "send"), ElementsAre(mlps + tables, tables, tables, tables, 0, 0));
  EXPECT_THAT(both("restore", "receive"),
              ElementsAre(mlps + tables, mlps + tables, mlps + tables, mlps + tables, 0, 0));
  EXPECT_THAT(both("samples", "receive"), ElementsAre(1'280, 1'280, 1'280, 1'280, 0, 0));
}

TEST_F(StorageTraces, RulesNameTheKey) {
  const auto wrong = [](auto change) {
    TransformerModel model = four_replicas(1);
    change(model);
    const auto found = wrong_transformer(model);
    return found ? found->key + " " + found->text : std::string();
  };
  EXPECT_EQ(wrong([](TransformerModel& m) { m.storage.ranks = 0; }),
            "storage.ranks is 0; the other keys of 'storage' need 1 or more");
  EXPECT_EQ(wrong([](TransformerModel& m) { m.storage.every = 5; }),
            "storage.checkpoint.every 5 is above steps 4, so that none would end with a checkpoint");
  EXPECT_EQ(wrong([](TransformerModel& m) { m.storage.copy = Bandwidth(8); }),
            "storage.checkpoint.copy is for 'mode: async'");
  EXPECT_EQ(wrong([](TransformerModel& m) { m.storage = {.ranks = 2}; }),
            "storage.ranks 2 would have nothing to do; give 'samples.size', 'checkpoint.every' or 'checkpoint.restore' "
            "there");
}

}  // namespace
}  // namespace rankwire
