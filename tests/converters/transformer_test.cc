#include "converters/transformer.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.h"
#include "emulator/workload/workload.h"
#include "proto/chakra.pb.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ContainerEq;
using ::testing::HasSubstr;

/// Small, with every dimension in use: 2 x 2 x 2 ranks.
TransformerModel small_model() {
  TransformerModel model;
  model.layers = 4;
  model.hidden = 64;
  model.sequence = 32;
  model.vocabulary = 1'000;
  model.micro_batches = 3;
  model.micro_batch_size = 2;
  model.element = Bytes(2);
  model.tensor_parallel = model.pipeline_parallel = model.data_parallel = 2;
  return model;
}

/// Reads a trace with protobuf's own reader of delimited messages.
std::vector<chakra::Node> read_nodes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  google::protobuf::io::IstreamInputStream stream(&file);
  bool at_end = false;
  chakra::GlobalMetadata metadata;
  EXPECT_TRUE(google::protobuf::util::ParseDelimitedFromZeroCopyStream(&metadata, &stream, &at_end)) << path;
  EXPECT_EQ(metadata.version(), "1.0.0");
  std::vector<chakra::Node> nodes;
  for (chakra::Node node; google::protobuf::util::ParseDelimitedFromZeroCopyStream(&node, &stream, &at_end);) {
    nodes.push_back(node);
    node.Clear();  // the reader merges
  }
  EXPECT_TRUE(at_end) << path << " ends in a broken frame";
  return nodes;
}

const chakra::AttributeProto& attribute(const chakra::Node& node, const std::string& name) {
  for (const chakra::AttributeProto& attribute : node.attr()) {
    if (attribute.name() == name) return attribute;
  }
  ADD_FAILURE() << node.name() << " has no " << name;
  return chakra::AttributeProto::default_instance();
}

bool communicates(const chakra::Node& node) {
  return node.type() != chakra::COMP_NODE;
}

/// "tp_0 0" (group and comm_type), "send" or "receive".
std::string channel_of(const chakra::Node& node) {
  if (node.type() == chakra::COMM_SEND_NODE) return "send";
  if (node.type() == chakra::COMM_RECV_NODE) return "receive";
  return attribute(node, "pg_name").string_val() + " " +
         chakra::CollectiveCommType_Name(static_cast<int>(attribute(node, "comm_type").int64_val()));
}

class Transformer : public ::testing::Test {
 protected:
  std::vector<std::vector<chakra::Node>> generate(const TransformerModel& model) {
    result_ = generate_transformer(model, prefix());
    std::vector<std::vector<chakra::Node>> ranks;
    for (uint32_t rank = 0; rank < result_.ranks; ++rank) {
      ranks.push_back(read_nodes(folder_ / ("model." + std::to_string(rank) + ".et")));
    }
    return ranks;
  }
  std::string prefix() const { return folder_ / "model"; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  ::rankwire::testing::TemporaryFolder folder_;
  GeneratedTraces result_;
};

// Activations: b s h e = 2 x 32 x 64 x 2 = 8,192 B.
// A layer's gradients: 12 h^2 / t x e = 12 x 64^2 / 2 x 2 = 49,152 B; a replica keeps half, 24,576 B.
// The embedding: V / t x h x e = 500 x 64 x 2 = 64,000 B.
TEST_F(Transformer, BytesOfEachRankAreTheClosedForms) {
  const auto ranks = generate(small_model());
  ASSERT_EQ(ranks.size(), 8u);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    std::map<std::string, int64_t> bytes;
    for (const chakra::Node& node : ranks[rank]) {
      if (communicates(node)) bytes[channel_of(node)] += attribute(node, "comm_size").int64_val();
    }
    const uint32_t shard = rank % 2, replica = rank / 2 % 2, stage = rank / 4;
    const std::string tensor = "tp_" + std::to_string(stage * 2 + replica);
    const std::string data = "dp_" + std::to_string(stage * 2 + shard);
    const std::string embedding = "embedding_" + std::to_string(replica * 2 + shard);
    const std::map<std::string, int64_t> expected = {
        {tensor + " ALL_REDUCE", 3 * (2 * 4 + 1) * 8'192},  // 3 micro-batches x (2 layers x 4 + embedding or logits)
        {"send", 3 * 8'192},
        {"receive", 3 * 8'192},
        {data + " REDUCE_SCATTER", 2 * 49'152},
        {data + " ALL_GATHER", 2 * 24'576},
        {data + " ALL_REDUCE", 64'000},
        {embedding + " ALL_REDUCE", 64'000},
    };
    EXPECT_THAT(bytes, ContainerEq(expected)) << "rank " << rank;
  }
}

TEST_F(Transformer, InnerStagesHaveNoEmbedding) {
  TransformerModel model = small_model();
  model.pipeline_parallel = 4;
  const auto ranks = generate(model);
  std::map<std::string, int64_t> bytes;
  for (const chakra::Node& node : ranks[4]) {  // stage 1, replica 0, shard 0
    if (communicates(node)) bytes[channel_of(node)] += attribute(node, "comm_size").int64_val();
  }
  const std::map<std::string, int64_t> expected = {
      {"tp_2 ALL_REDUCE", 3 * 4 * 8'192},  // one layer
      {"send", 3 * 2 * 8'192},             // both ways
      {"receive", 3 * 2 * 8'192},
      {"dp_2 REDUCE_SCATTER", 49'152},
      {"dp_2 ALL_GATHER", 24'576},
  };
  EXPECT_THAT(bytes, ContainerEq(expected));
}

// Shards are padded to whole elements: 12 h^2 = 12 parameters over 5 replicas are 3 each, 15 with padding.
TEST_F(Transformer, GradientsArePaddedToEqualShards) {
  TransformerModel model;
  model.layers = model.micro_batches = 1;
  model.hidden = model.sequence = model.vocabulary = 1;
  model.tensor_parallel = 1;
  model.data_parallel = 5;
  model.element = Bytes(2);
  for (const auto& nodes : generate(model)) {
    std::map<std::string, int64_t> bytes;
    for (const chakra::Node& node : nodes) {
      if (communicates(node)) bytes[channel_of(node)] += attribute(node, "comm_size").int64_val();
    }
    const std::map<std::string, int64_t> expected = {
        {"dp_0 REDUCE_SCATTER", 30}, {"dp_0 ALL_GATHER", 6}, {"dp_0 ALL_REDUCE", 2}};
    EXPECT_THAT(bytes, ContainerEq(expected));
  }
}

// Forward and backward of a batch of B sequences: 72 B s l h^2 (1 + s / 6h + V / 12lh), which is Narayanan et al.,
// SC21, equation 3, with 3 passes instead of the 4 that activation recomputation makes. B = 3 micro-batches x 2
// sequences x 2 replicas = 12, s = 32, l = 4, h = 64, V = 1000:
//   72 B s l h^2 = 452,984,832;  12 B s^2 l h = 37,748,736;  6 B s h V = 147,456,000
TEST_F(Transformer, FlopsAreThoseOfThePaper) {
  int64_t flops = 0;
  for (const auto& nodes : generate(small_model())) {
    for (const chakra::Node& node : nodes) {
      if (node.type() != chakra::COMP_NODE) continue;
      EXPECT_GE(node.duration_micros(), 1u) << node.name();
      EXPECT_GT(attribute(node, "tensor_size").uint64_val(), 0u) << node.name();
      if (node.name() != "optimizer.step") flops += attribute(node, "num_ops").int64_val();
    }
  }
  EXPECT_EQ(flops, 452'984'832 + 37'748'736 + 147'456'000);
}

// 16 b s h^2 = 16 x 512 x 4096^2 = 137,438,953,472 flop at 100 Tflop/s: 1374.4 us.
TEST_F(Transformer, DurationsAreFlopsOverPeakRoundedUp) {
  TransformerModel model;
  model.hidden = 4'096;
  model.tensor_parallel = model.data_parallel = 1;
  std::map<std::string, uint64_t> durations;
  const auto ranks = generate(model);
  for (const chakra::Node& node : ranks.front()) durations[node.name()] = node.duration_micros();
  EXPECT_EQ(durations["mb1.layer3.mlp.fwd"], 1'375u);
  EXPECT_EQ(durations["mb1.layer3.mlp.bwd"], 2'749u);
  EXPECT_EQ(durations["mb1.embedding.fwd"], 1u);
}

TEST_F(Transformer, DependenciesPointBackwardsAndNamesAreUnique) {
  uint64_t nodes_written = 0;
  for (const auto& nodes : generate(small_model())) {
    std::set<std::string> names;
    nodes_written += nodes.size();
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(nodes[i].id(), i);
      EXPECT_EQ(nodes[i].ctrl_deps_size(), 0);
      EXPECT_FALSE(attribute(nodes[i], "is_cpu_op").bool_val());
      EXPECT_TRUE(names.insert(nodes[i].name()).second) << nodes[i].name();
      const std::set<uint64_t> distinct(nodes[i].data_deps().begin(), nodes[i].data_deps().end());
      EXPECT_EQ(distinct.size(), static_cast<size_t>(nodes[i].data_deps_size())) << nodes[i].name();
      for (uint64_t dependency : distinct) EXPECT_LT(dependency, i) << nodes[i].name();
      // The first thing a stage does waits for nothing, all else for something.
      EXPECT_EQ(distinct.empty(), i == 0) << nodes[i].name();
    }
  }
  EXPECT_EQ(result_.nodes, nodes_written);
}

TEST_F(Transformer, EverySendHasOneReceive) {
  for (uint32_t micro_batches : {1u, 2u, 4u, 7u}) {
    TransformerModel model = small_model();
    model.pipeline_parallel = 4;
    model.micro_batches = micro_batches;
    std::set<std::tuple<int, int, int, int64_t>> sent, received;
    const auto ranks = generate(model);
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      for (const chakra::Node& node : ranks[rank]) {
        const bool sends = node.type() == chakra::COMM_SEND_NODE;
        if (!sends && node.type() != chakra::COMM_RECV_NODE) continue;
        const int source = attribute(node, "comm_src").int32_val(),
                  destination = attribute(node, "comm_dst").int32_val();
        EXPECT_EQ(static_cast<int>(rank), sends ? source : destination);
        const auto key = std::tuple(source, destination, attribute(node, "comm_tag").int32_val(),
                                    attribute(node, "comm_size").int64_val());
        EXPECT_TRUE((sends ? sent : received).insert(key).second)
            << node.name() << " repeats source, destination and tag";
      }
    }
    EXPECT_EQ(sent.size(), 4u * 3 * 2 * micro_batches);  // pipelines x boundaries x directions x micro-batches
    EXPECT_THAT(received, ContainerEq(sent));
  }
}

TEST_F(Transformer, GroupsFollowMegatronsOrder) {
  generate(small_model());
  EXPECT_EQ(nlohmann::json::parse(text_of("model.json")), nlohmann::json::parse(R"({
    "tp_0": [0, 1], "tp_1": [2, 3], "tp_2": [4, 5], "tp_3": [6, 7],
    "dp_0": [0, 2], "dp_1": [1, 3], "dp_2": [4, 6], "dp_3": [5, 7],
    "embedding_0": [0, 4], "embedding_1": [1, 5], "embedding_2": [2, 6], "embedding_3": [3, 7]})"));
}

TEST_F(Transformer, ReplicasAreNeighboursInTheOtherOrder) {
  TransformerModel model = small_model();
  model.order = TransformerModel::Order::kDataTensor;
  generate(model);
  // Rank (stage * 2 + shard) * 2 + replica.
  EXPECT_EQ(nlohmann::json::parse(text_of("model.json")), nlohmann::json::parse(R"({
    "tp_0": [0, 2], "tp_1": [1, 3], "tp_2": [4, 6], "tp_3": [5, 7],
    "dp_0": [0, 1], "dp_1": [2, 3], "dp_2": [4, 5], "dp_3": [6, 7],
    "embedding_0": [0, 4], "embedding_1": [2, 6], "embedding_2": [1, 5], "embedding_3": [3, 7]})"));
}

TEST_F(Transformer, DegreesOfOneCauseNoCommunication) {
  TransformerModel model = small_model();
  model.tensor_parallel = model.pipeline_parallel = model.data_parallel = 1;
  const auto ranks = generate(model);
  ASSERT_EQ(ranks.size(), 1u);
  // 3 micro-batches x (2 x 2 x 4 layers + 2 x embedding + 2 x logits) + the optimizer
  EXPECT_EQ(ranks[0].size(), 3u * (16 + 4) + 1);
  for (const chakra::Node& node : ranks[0]) EXPECT_FALSE(communicates(node)) << node.name();
  EXPECT_EQ(text_of("model.json"), "{}\n");
}

TEST_F(Transformer, EqualModelsGiveEqualBytes) {
  generate(small_model());
  std::map<std::string, std::string> first;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    first[entry.path().filename()] = text_of(entry.path().filename());
  }
  ASSERT_EQ(first.size(), 9u);
  generate(small_model());
  for (const auto& [name, text] : first) EXPECT_EQ(text_of(name), text) << name;
}

TEST_F(Transformer, IsAValidWorkload) {
  for (const auto& [tensor, pipeline, data] : {std::tuple(2, 2, 2), {1, 4, 2}, {4, 1, 2}, {1, 1, 3}, {2, 4, 1}}) {
    TransformerModel model = small_model();
    model.tensor_parallel = static_cast<uint32_t>(tensor);
    model.pipeline_parallel = static_cast<uint32_t>(pipeline);
    model.data_parallel = static_cast<uint32_t>(data);
    const ::rankwire::testing::TemporaryFolder folder;
    const GeneratedTraces traces = generate_transformer(model, (folder / "model").string());
    WorkloadOptions options;
    options.traces = {folder / "model"};
    options.groups_file = folder / "model.json";
    Warnings warnings;
    const Workload workload = load_workload(options, warnings);
    EXPECT_THAT(warnings, ::testing::IsEmpty());
    ASSERT_EQ(workload.ranks.size(), traces.ranks);
    uint64_t nodes = 0;
    for (const RankTrace& rank : workload.ranks) nodes += rank.nodes.size();
    EXPECT_EQ(nodes, traces.nodes);
  }
}

struct Refusal {
  std::function<void(TransformerModel&)> change;
  const char* error;
};

TEST_F(Transformer, RefusesWhatCannotBeDivided) {
  const Refusal refusals[] = {
      {[](auto& m) { m.hidden = 63; }, "hidden 63 is not a multiple of tensor_parallel 2"},
      {[](auto& m) { m.layers = 5; }, "layers 5 is not a multiple of pipeline_parallel 2"},
      {[](auto& m) { m.micro_batches = 0; }, "micro_batches is 0, must be at least 1"},
      {[](auto& m) { m.data_parallel = 0; }, "data_parallel is 0, must be at least 1"},
      {[](auto& m) { m.peak_flops = 0; }, "peak is 0, must be at least 1"},
      {[](auto& m) { m.data_parallel = 1 << 17; }, "more than 131072 ranks"},
      {[](auto& m) { m.hidden = 1LL << 40; }, "a size exceeds 2^63 - 1"},
  };
  for (const Refusal& refusal : refusals) {
    TransformerModel model = small_model();
    refusal.change(model);
    try {
      generate_transformer(model, prefix());
      ADD_FAILURE() << "accepted: " << refusal.error;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(refusal.error));
    }
  }
}

TEST_F(Transformer, ReportsAFolderThatDoesNotExist) {
  EXPECT_THROW(generate_transformer(small_model(), (folder_ / "absent/model").string()), Error);
}

}  // namespace
}  // namespace rankwire
