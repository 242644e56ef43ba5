#include "converters/layers.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.h"
#include "tests/converters/written_trace.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::depends;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_named;
using testing::read_written;
using ::testing::SizeIs;
using testing::WrittenNode;

class Layers : public ::testing::Test {
 protected:
  std::vector<WrittenNode> convert_file(const std::string& path, const LayerOptions& options, uint32_t rank = 0) {
    std::filesystem::remove_all(folder_ / "out");
    ConversionProgress progress;
    made_ = convert_layers(path, options, folder_ / "out", progress);
    return read_written(trace_file(made_.prefix, rank));
  }
  std::vector<WrittenNode> convert(const std::string& text, const LayerOptions& options = {}, uint32_t rank = 0) {
    return convert_file(testing::write_text(folder_ / "text.txt", text), options, rank);
  }
  std::string error_of(const std::string& text, const LayerOptions& options = {.ranks = 4}) {
    try {
      convert(text, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }
  std::vector<int64_t> members(const std::string& group) const {
    return nlohmann::json::parse(std::ifstream(made_.groups)).at(group);
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

const std::string kTwoLayers =
    "2\n"
    "a -1 1000 ALLGATHER 100 2000 ALLREDUCE 200 3000 REDUCESCATTER 300 10\n"
    "b\t-1\t4000\tNONE\t0\t5000\tALLREDUCE\t500\t6000\tALLTOALL\t600\t10\r\n";

TEST_F(Layers, TimesAreNanosecondsUnlessSaidOtherwise) {
  EXPECT_EQ(node_named(convert("DATA\n" + kTwoLayers, {.ranks = 2}), "COMP_NODE_b_FWD").micros, 4u);
  EXPECT_EQ(node_named(convert("DATA\n" + kTwoLayers, {.ranks = 2, .micros = true}), "COMP_NODE_b_FWD").micros, 4000u);
}

TEST_F(Layers, PartsOfMicrosecondsAddUp) {
  const auto nodes = convert("DATA\n1\na -1 600 NONE 0 1 NONE 0 600 NONE 0 1\n", {.ranks = 2});
  EXPECT_EQ(nodes.at(0).micros, 0u);
  EXPECT_EQ(nodes.at(1).micros, 1u);  // 1.2 us in both
}

TEST_F(Layers, MembersOfHybridDataModel) {
  // 8 ranks, 2 of them share a layer: ranks 4 and 5; 5 has the same part of it as 1, 3 and 7.
  const auto nodes = convert("HYBRID_DATA_MODEL\n" + kTwoLayers, {.ranks = 8, .model_parallel = 2}, 5);
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_a_ALLGATHER").group), ElementsAre(4, 5));
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_a_REDUCESCATTER").group), ElementsAre(1, 3, 5, 7));
}

TEST_F(Layers, MembersOfHybridModelData) {
  // The other way: 4 neighbours have the same part of a layer.
  const auto nodes = convert("HYBRID_MODEL_DATA\n" + kTwoLayers, {.ranks = 8, .model_parallel = 2}, 5);
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_a_ALLGATHER").group), ElementsAre(1, 5));
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_a_REDUCESCATTER").group), ElementsAre(4, 5, 6, 7));
}

TEST_F(Layers, EachLayerOfHybridCustomizedHasItsOwn) {
  const auto nodes = convert(
      "HYBRID_CUSTOMIZED\n4\na -1 1 ALLGATHER 1 1 NONE 0 1 ALLREDUCE 1 1 DATA\n"
      "b -1 1 ALLGATHER 1 1 NONE 0 1 ALLREDUCE 1 1 MODEL\nc -1 1 ALLGATHER 1 1 NONE 0 1 ALLREDUCE 1 1 "
      "HYBRID_MODEL_DATA\nd -1 1 ALLGATHER 1 1 NONE 0 1 ALLREDUCE 1 1 HYBRID_DATA_MODEL\n",
      {.ranks = 4, .model_parallel = 2}, 1);
  EXPECT_EQ(node_named(nodes, "COMM_COLL_NODE_a_ALLREDUCE").group, "0");
  EXPECT_EQ(node_named(nodes, "COMM_COLL_NODE_b_ALLGATHER").group, "0");
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_c_ALLGATHER").group), ElementsAre(1, 3));
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_d_ALLGATHER").group), ElementsAre(0, 1));
}

TEST_F(Layers, ExpertsAreAmongDataParallelRanks) {
  // 16 ranks in 2 stages of 4 x 2; rank 11 is the second shard (1) of the second replica (1) of the second stage (8).
  const auto nodes = convert(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 1 all_gpus: 16 checkpoints: "
      "0 "
      "checkpoint_initiates: 0 pp_comm 5\n1\n"
      "moe -1 1 ALLTOALL_EP 10 1 ALLREDUCE 20 1 REDUCESCATTER_DP_EP 30 1\n",
      {}, 11);
  EXPECT_EQ(made_.ranks, 16u);
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("pp_comm")));
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_moe_ALLTOALL_EP").group), ElementsAre(9, 11));
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_moe_IG_COMM__ALLREDUCE").group), ElementsAre(10, 11));
  EXPECT_THAT(members(node_named(nodes, "COMM_COLL_NODE_moe_REDUCESCATTER_DP_EP").group), ElementsAre(11, 15));
}

TEST_F(Layers, TheForwardPassIsDoneAgainFromTheCheckpoint) {
  std::string text =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 2 0 2 checkpoint_initiates: 1 3\n4\n";
  for (int i = 0; i < 4; ++i) text += fmt::format("l{} -1 1 ALLGATHER {} 1 NONE 0 1 NONE 0 1\n", i, i + 1);
  const auto nodes = convert(text, {.ranks = 2});
  // From layer 2 to before layer 3: layer 2 alone.
  const WrittenNode& again = node_named(nodes, "COMP_NODE_l2_FWD_IN_BCKWD");
  EXPECT_TRUE(depends(nodes, again, node_named(nodes, "COMM_COLL_NODE_l3_ALLGATHER")));
  EXPECT_TRUE(depends(nodes, node_named(nodes, "COMP_NODE_l3_BWD_IG"),
                      node_named(nodes, "COMM_COLL_NODE_l2_FWD_IN_BCKWD_ALLGATHER")));
  EXPECT_THAT(nodes, SizeIs(4 * 4 + 2));  // a layer: 3 computations, 1 collective
}

TEST_F(Layers, InferenceGoesForwardAlone) {
  const auto nodes = convert("DISTRIBUTED_INFERENCE\n" + kTwoLayers, {.ranks = 2});
  EXPECT_THAT(nodes, SizeIs(3));
  EXPECT_TRUE(depends(nodes, node_named(nodes, "COMP_NODE_b_FWD"), node_named(nodes, "COMM_COLL_NODE_a_ALLGATHER")));
}

TEST_F(Layers, TheNextPassWaitsForTheWeightsOfItsLayer) {
  const auto nodes = convert("DATA\n" + kTwoLayers, {.ranks = 2, .passes = 2});
  // 2 x (2 forward, 2 weight gradients, 1 input gradient, 2 collectives)
  ASSERT_THAT(nodes, SizeIs(14));
  const WrittenNode& second = nodes[7];
  EXPECT_EQ(second.name, "COMP_NODE_a_FWD");
  EXPECT_TRUE(depends(nodes, second, node_named(nodes, "COMM_COLL_NODE_a_REDUCESCATTER")));
  EXPECT_FALSE(depends(nodes, second, node_named(nodes, "COMM_COLL_NODE_b_ALLTOALL")));
}

TEST_F(Layers, TwoCollectivesInOneWord) {
  const auto nodes = convert("MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCEALLTOALL 64 1\n", {.ranks = 2});
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].kind, chakra::ALL_REDUCE);
  EXPECT_EQ(nodes[1].kind, chakra::ALL_TO_ALL);
  EXPECT_THAT(nodes[1].after, ElementsAre(0));
}

TEST_F(Layers, WrongTextsAreNamedByLine) {
  EXPECT_THAT(error_of(""), HasSubstr("no layers"));
  EXPECT_THAT(error_of("DATUM\n"), HasSubstr("text.txt:1: \"DATUM\" is no kind of parallelism"));
  EXPECT_THAT(error_of("DATA\nx\n"), HasSubstr("text.txt:2: the number of layers"));
  EXPECT_THAT(error_of("DATA\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"), HasSubstr("1 layers of 2"));
  EXPECT_THAT(error_of("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n"), HasSubstr("text.txt:3: a layer has 12 columns"));
  EXPECT_THAT(error_of("DATA\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n"), HasSubstr("text.txt:3: \"x\" is no time"));
  EXPECT_THAT(error_of("DATA\n1\na -1 1 SUM 0 1 NONE 0 1 NONE 0 1\n"), HasSubstr("\"SUM\" is no collective"));
  EXPECT_THAT(error_of("DATA\n1\na -1 1 NONE -5 1 NONE 0 1 NONE 0 1\n"), HasSubstr("\"-5\" is no size"));
  EXPECT_THAT(error_of("DATA\n" + kTwoLayers, {}), HasSubstr("--ranks"));
  EXPECT_THAT(error_of("HYBRID_DATA_MODEL\n" + kTwoLayers), HasSubstr("--model-parallel"));
  EXPECT_THAT(error_of("HYBRID_DATA_MODEL\n" + kTwoLayers, {.ranks = 4, .model_parallel = 3}),
              HasSubstr("4 ranks cannot be divided"));
  EXPECT_THAT(error_of("HYBRID_DLRM\n" + kTwoLayers), HasSubstr("last bottom layer"));
  EXPECT_THAT(error_of("HYBRID_DLRM 7\n" + kTwoLayers), HasSubstr("the last bottom layer is 7 of 2"));
  EXPECT_THAT(error_of("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 1 "
                       "checkpoint_initiates: 1 0\n" +
                       kTwoLayers),
              HasSubstr("layer 0 does not exist or has no checkpoint"));
  EXPECT_THAT(error_of("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 3 1\n" + kTwoLayers), HasSubstr("as many layers"));
}

/// A node as name, kind, size, duration, and the names of what it depends on. (Names are unique but for the two
/// all-to-alls of DLRM, which differ by their place; of Chakra's, one kind has an infix that the others lack.)
using Compared = std::tuple<std::string, int64_t, int64_t, uint64_t, std::multiset<std::string>>;

std::vector<Compared> compared(const std::vector<WrittenNode>& nodes) {
  std::vector<Compared> all;
  std::map<uint64_t, std::string> names;
  for (const WrittenNode& node : nodes) {
    std::string& name = names[node.id] = node.name;
    if (const size_t infix = name.find("IG_COMM__"); infix != name.npos) name.erase(infix, 9);
  }
  for (const WrittenNode& node : nodes) {
    std::multiset<std::string> after;
    for (const uint64_t id : node.after) after.insert(names.at(id));
    all.emplace_back(names[node.id], node.kind, node.size, node.micros, after);
  }
  return all;
}

TEST_F(Layers, GraphsAreThoseOfChakrasConverter) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/text/astra1_text_inputs_and_chakra_text_converter_outputs_4npus.tar.xz");
  ASSERT_NO_FATAL_FAILURE(testing::unpack(archive, folder_));
  const std::filesystem::path texts = folder_ / "textw";
  // All that Chakra's converter reads: where a text says nothing of model-parallel ranks, that has them all in one.
  for (const char* name :
       {"AllReduce_1MB", "DLRM_HybridParallel", "MLP_HybridParallel_Data_Model", "MLP_HybridParallel_Model_Data",
        "MLP_ModelParallel", "Resnet50_DataParallel", "tut_microAllReduce", "tut_microAllToAll"}) {
    const auto theirs = compared(read_written(texts / fmt::format("out_{0}/{0}.3.et", name)));
    const auto ours = compared(
        convert_file(texts / fmt::format("{}.txt", name), {.ranks = 4, .model_parallel = 2, .micros = true}, 3));
    EXPECT_EQ(ours, theirs) << name;
    EXPECT_EQ(made_.ranks, 4u);
  }
  // Those that it rejects. A rank of the Transformer: 57 layers.
  for (const char* name : {"Transformer_HybridParallel", "Transformer_HybridParallel_Fwd_In_Bckwd",
                           "sample_per_layer_parallel_HybridCustomized"}) {
    EXPECT_THAT(convert_file(texts / fmt::format("{}.txt", name), {.ranks = 8, .model_parallel = 4}), Not(IsEmpty()))
        << name;
  }
}

TEST_F(Layers, WorkloadsOfAicb) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/simai/aicb_simai_workloads.tar.xz");
  ASSERT_NO_FATAL_FAILURE(testing::unpack(archive, folder_));
  for (const char* name :
       {"G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100", "all_to_all", "muti_all_reduce",
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp_A100", "SimAI_microAllReduce",
        "G175B-M1-C03_GPT175B_megatron_tp8_pp1_mbs1_A100", "L65B_D1_C08_Llama65B_deepspeed_zero3_A100"}) {
    EXPECT_THAT(convert_file(folder_ / "aicb" / fmt::format("{}.txt", name), {.ranks = 16}), Not(IsEmpty())) << name;
  }
  // 1789 layers for 9216 GPUs are read as they are; on one stage of 2 x 16 ranks they say the same of each.
  Warnings warnings;
  std::ifstream file(folder_ / "aicb/SimAI_workload_analytical_9216gpu.txt");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const LayerText moe = parse_layer_text("moe", text, warnings);
  EXPECT_EQ(moe.all_ranks, 9216u);
  EXPECT_EQ(moe.expert_parallel, 16u);
  EXPECT_EQ(moe.pipeline_parallel, 12u);
  EXPECT_THAT(moe.layers, SizeIs(1789));
}

}  // namespace
}  // namespace rankwire
