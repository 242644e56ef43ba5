#include "converters/pytorch_call.h"

#include <gmock/gmock.h>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Parses {"inputs": .., "outputs": .., "attrs": ..}.
std::optional<PytorchCall> parse(const std::string& json) {
  static simdjson::dom::parser parser;
  const simdjson::dom::element node = parser.parse(json);
  const auto part = [&](const char* key) -> std::optional<simdjson::dom::element> {
    simdjson::dom::element value;
    if (node[key].get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
  };
  return parse_recorded_call(part("inputs").value(), part("outputs"), part("attrs"));
}

// The nodes are those of the corpus, one of each schema.

TEST(PytorchCall, Schema101HasTheGroupsAddress) {
  const auto call = parse(R"({"inputs": [[996, 661, 0, 384, 4, "cuda:0"], 149, 94594108284448, 0, "all_to_allv",
      [48, 48], [32, 64]], "outputs": [[988, 610, 0, 384, 4, "cuda:0"]]})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->kind, ActionKind::kAllToAll);
  EXPECT_EQ(call->sequence, 149);
  EXPECT_EQ(call->group, "");
  EXPECT_EQ(call->handle, 94594108284448);
  EXPECT_EQ(call->input, Bytes(1536));  // 384 x 4
  EXPECT_EQ(call->output, Bytes(1536));
  EXPECT_THAT(call->input_split, ElementsAre(48, 48));
  EXPECT_THAT(call->output_split, ElementsAre(32, 64));
}

TEST(PytorchCall, AWaitHasNoTensor) {
  const auto call = parse(R"({"inputs": [147, 0, 0, "wait", [], []], "outputs": []})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->kind, ActionKind::kWait);
  EXPECT_EQ(call->sequence, 147);
  EXPECT_EQ(call->input, Bytes(0));
}

TEST(PytorchCall, Schema102HasTheNumberOfMembers) {
  const auto call = parse(R"({"inputs": {"values": [[[14, 15, 0, 1, 4, "cuda:0"]], 12, 82149104, 0, "all_gather",
      [], [], 2]}, "outputs": {"values": [[[[19, 20, 0, 1, 4, "cuda:0"], [5, 23, 0, 1, 4, "cuda:0"]]]]}})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->kind, ActionKind::kAllGather);
  EXPECT_EQ(call->members, 2);
  EXPECT_EQ(call->first_rank, -1);
  EXPECT_EQ(call->input, Bytes(4));
  EXPECT_EQ(call->output, Bytes(8));
}

TEST(PytorchCall, Schema103HasTheNameAndTheRanks) {
  const auto call = parse(R"({"inputs": {"values": [[[321, 599, 0, 53, 8, "cuda:0"]], [34, false],
      ["7", "pipeline"], 1, "broadcast", [], [], 4, 2, 8]}})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->kind, ActionKind::kBroadcast);
  EXPECT_EQ(call->sequence, 34);
  EXPECT_EQ(call->group, "7");
  EXPECT_EQ(call->rank, 1);
  EXPECT_EQ(call->first_rank, 4);
  EXPECT_EQ(call->stride, 2);
  EXPECT_EQ(call->members, 8);
  EXPECT_EQ(call->input, Bytes(424));
}

TEST(PytorchCall, AttributesOfSchema110Override) {
  const auto call = parse(R"({"inputs": {"values": [[[3, 4, 0, 10, 2, "cuda:1"]], 35, ["0", "default_pg"], 1,
      "allreduce", [], [], -1, -1, 1]}, "attrs": [{"name": "pg_name", "type": "string", "value": "12"},
      {"name": "global_rank_start", "type": "int64", "value": 3}, {"name": "pg_size", "type": "uint64", "value": 2},
      {"name": "global_rank_stride", "type": "int64", "value": 5},
      {"name": "in_split_size", "type": "string", "value": "[1, 2]"}]})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->group, "12");
  EXPECT_EQ(call->first_rank, 3);
  EXPECT_EQ(call->stride, 5);
  EXPECT_EQ(call->members, 2);
  EXPECT_THAT(call->input_split, ElementsAre(1, 2));
  EXPECT_THAT(call->output_split, IsEmpty());
}

TEST(PytorchCall, WhatIsNoCallIsAbsent) {
  EXPECT_FALSE(parse(R"({"inputs": []})"));
  EXPECT_FALSE(parse(R"({"inputs": {"shapes": []}})"));
  EXPECT_FALSE(parse(R"({"inputs": [1, 2, 3, 4, 5, 6]})"));
}

TEST(PytorchCall, KindsOfAllNames) {
  using enum ActionKind;
  const std::pair<const char*, ActionKind> names[] = {
      {"allreduce", kAllReduce},
      {"allreduce_coalesced", kAllReduce},
      {"_allgather_base", kAllGather},
      {"allgather_into_tensor_coalesced", kAllGather},
      {"all_gather", kAllGather},
      {"_reduce_scatter_base", kReduceScatter},
      {"reduce_scatter", kReduceScatter},
      {"all_to_all", kAllToAll},
      {"all_to_allv", kAllToAll},
      {"broadcast", kBroadcast},
      {"_broadcast_oop", kBroadcast},
      {"reduce", kReduce},
      {"gather", kGather},
      {"scatter", kScatter},
      {"barrier", kBarrier},
      {"send", kSend},
      {"recv", kReceive},
      {"wait", kWait},
      {"init", kOther},
  };
  for (const auto& [name, kind] : names) EXPECT_EQ(call_kind(name), kind) << name;
}

TEST(PytorchCall, SizesOfElements) {
  EXPECT_EQ(element_size("BFloat16"), 2);
  EXPECT_EQ(element_size("long int"), 8);
  EXPECT_EQ(element_size("Float8_e4m3fn"), 1);
  EXPECT_EQ(element_size("unsigned char"), 1);
  EXPECT_FALSE(element_size("Float3"));
}

}  // namespace
}  // namespace rankwire
