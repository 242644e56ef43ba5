#include "converters/param_comms.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "proto/chakra.pb.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using testing::depends;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::node_named;
using testing::read_written;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using testing::WrittenNode;

class ParamComms : public ::testing::Test {
 protected:
  std::vector<WrittenNode> convert(const std::vector<std::string>& lists, uint32_t rank = 0) {
    std::vector<std::string> files;
    for (size_t i = 0; i < lists.size(); ++i) {
      files.push_back(testing::write_text(folder_ / fmt::format("{}.json", i), lists[i]));
    }
    ConversionProgress progress;
    made_ = convert_param_comms(files, folder_ / "out", progress);
    return read_written(trace_file(made_.prefix, rank));
  }
  std::string error_of(const std::string& list) {
    try {
      parse_param_comms("list.json", list);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

TEST_F(ParamComms, ACallRunsBesideWhatFollowsUntilItIsAwaited) {
  const auto nodes = convert({R"([
    {"comms": "init", "pg_id": 3, "global_ranks": [0, 2, 4]},
    {"comms": "all_reduce", "req": 1, "pg_id": 3, "in_msg_size": 10, "out_msg_size": 10, "dtype": "Float"},
    {"compute": "gemm", "count": 3, "mm0_dim0": 2, "mm0_dim1": 3, "mm1_dim0": 3, "mm1_dim1": 5, "dtype": "Half"},
    {"comms": "wait", "req": 1, "pg_id": 3},
    {"comms": "all_gather", "req": 2, "pg_id": 3, "in_msg_size": 4, "out_msg_size": 12, "dtype": "Long"},
    {"comms": "barrier", "req": 3}])"});
  ASSERT_THAT(nodes, SizeIs(5));
  EXPECT_THAT(nodes[0].metadata, HasSubstr(R"("pg_name":"3","ranks":[0,2,4])"));
  const WrittenNode& reduce = node_named(nodes, "all_reduce");
  EXPECT_EQ(reduce.size, 40);
  EXPECT_EQ(reduce.group, "3");
  EXPECT_FALSE(depends(nodes, node_named(nodes, "gemm"), reduce));
  EXPECT_THAT(node_named(nodes, "all_gather").after, UnorderedElementsAre(reduce.id, node_named(nodes, "gemm").id));
  EXPECT_EQ(node_named(nodes, "all_gather").size, 32);
  // Nobody waits for the all-gather: it was waited for at once.
  EXPECT_THAT(node_named(nodes, "barrier").after, ElementsAre(node_named(nodes, "all_gather").id));
}

// Names as PyTorch records them; sizes are those of all tensors together.
TEST_F(ParamComms, CoalescedCallsAreOneCollective) {
  const auto nodes = convert({R"([
    {"comms": "all_gather_into_tensor_coalesced", "req": 1, "in_msg_size": 10, "out_msg_size": 20, "dtype": "Float"},
    {"comms": "reduce_scatter_tensor_coalesced", "req": 2, "in_msg_size": 6, "out_msg_size": 3, "dtype": "Half"},
    {"comms": "allreduce_coalesced", "req": 3, "in_msg_size": 7, "out_msg_size": 7, "dtype": "Byte"}])"});
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[0].kind, chakra::ALL_GATHER);
  EXPECT_EQ(nodes[0].size, 40);
  EXPECT_EQ(nodes[1].kind, chakra::REDUCE_SCATTER);
  EXPECT_EQ(nodes[1].size, 12);
  EXPECT_EQ(nodes[2].kind, chakra::ALL_REDUCE);
  EXPECT_EQ(nodes[2].size, 7);
}

TEST_F(ParamComms, WorkOfComputations) {
  const auto entries = parse_param_comms("list.json", R"([
    {"compute": "gemm", "count": 3, "mm0_dim0": 2, "mm0_dim1": 3, "mm1_dim0": 3, "mm1_dim1": 5, "dtype": "Half"},
    {"compute": "gemm", "mm_dim": 4, "dtype": "Float"},
    {"compute": "emb_lookup", "emb_dim": 8, "batch_size": 2, "num_emb_tables": 3, "bag_size": 4}])");
  EXPECT_EQ(entries[0].operations, 2 * 2 * 3 * 5 * 3);
  EXPECT_EQ(entries[0].memory, Bytes((6 + 15 + 10) * 2));
  EXPECT_EQ(entries[1].operations, 2 * 64);
  // 6 bags, of each 4 rows read and 1 written, 8 floats.
  EXPECT_EQ(entries[2].memory, Bytes(6 * 5 * 8 * 4));
}

TEST_F(ParamComms, ABatchRunsTogether) {
  const auto nodes = convert({R"([
    {"comms": "send", "req": 1, "in_msg_size": 2, "out_msg_size": 2, "dtype": "Byte", "src_rank": 0, "dst_rank": 1,
     "use_batch": true},
    {"comms": "recv", "req": 2, "in_msg_size": 3, "out_msg_size": 3, "dtype": "Byte", "src_rank": 1, "dst_rank": 0,
     "use_batch": true},
    {"comms": "batch_isend_irecv", "req": 3},
    {"compute": "gemm", "mm_dim": 4, "dtype": "Float"}])"});
  EXPECT_THAT(node_named(nodes, "recv").after, ElementsAre());
  EXPECT_EQ(node_named(nodes, "recv").source, 1);
  EXPECT_EQ(node_named(nodes, "send").destination, 1);
  EXPECT_THAT(node_named(nodes, "gemm").after,
              UnorderedElementsAre(node_named(nodes, "send").id, node_named(nodes, "recv").id));
}

TEST_F(ParamComms, WhatIsLeftOutOrCannotBeIsTold) {
  const char* list = R"([{"comms": "barrier", "world_size": 4}, {"comms": "incast"}, {"comms": "startCoalescing"},
    {"comms": "send", "in_msg_size": 2, "dtype": "Byte", "dst_rank": 3}])";
  convert({list});
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("of 4 ranks, but there are 1 traces"),
                                          HasSubstr("\"incast\" is no call that is known; 1 of them")));
  std::filesystem::remove_all(folder_ / "out");
  convert({R"([{"comms": "send", "in_msg_size": 2, "dtype": "Byte", "dst_rank": 1}])"});
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("[0]: send names rank 1, but there are 1 traces")));
  std::filesystem::remove_all(folder_ / "out");
  EXPECT_THAT(
      [&] { convert({R"([{"comms": "send", "world_size": 2, "in_msg_size": 2, "dtype": "Byte", "dst_rank": 2}])"}); },
      ::testing::ThrowsMessage<Error>(HasSubstr("[0]: send names rank 2 of 2")));
}

TEST_F(ParamComms, WrongListsAreNamedByElement) {
  EXPECT_THAT(error_of("[1"), HasSubstr("list.json: byte 3: no JSON"));
  EXPECT_THAT(error_of("[1e999]"), HasSubstr("list.json: a number is larger"));
  EXPECT_THAT(error_of("{}"), HasSubstr("no list"));
  EXPECT_THAT(error_of("[7]"), HasSubstr("list.json: [0]: an object"));
  EXPECT_THAT(error_of(R"([{"comms": "all_reduce", "dtype": "Float"}])"), HasSubstr("[0]: in_msg_size is missing"));
  EXPECT_THAT(error_of(R"([{"comms": "all_reduce", "dtype": "Floot", "in_msg_size": 1}])"), HasSubstr("\"Floot\""));
  EXPECT_THAT(error_of(R"([{}, {"comms": "all_reduce", "dtype": "Float", "in_msg_size": -1}])"),
              HasSubstr("[1]: in_msg_size is -1"));
  EXPECT_THAT(error_of(R"([{"compute": "conv"}])"), HasSubstr("neither gemm nor emb_lookup"));
}

}  // namespace
}  // namespace rankwire
