#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/message.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::HasSubstr;

/// A set of traces and all that its error must name.
struct Wrong {
  const char* name;
  std::function<void(TraceSet&)> write;
  std::vector<const char*> message;
};

std::function<void(TraceSet&)> ranks(std::vector<Nodes> nodes) {
  return [nodes = std::move(nodes)](TraceSet& set) {
    for (const Nodes& rank : nodes) set.add(rank);
  };
}

std::function<void(TraceSet&)> ranks_in_groups(std::vector<Nodes> nodes, std::string json) {
  return [nodes = std::move(nodes), json = std::move(json)](TraceSet& set) {
    for (const Nodes& rank : nodes) set.add(rank);
    set.groups(json);
  };
}

void cut(const std::string& path, uintmax_t bytes) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

const Nodes kOne = {compute(1, "a")};

const Wrong kWrong[] = {
    {"TruncatedPlain",
     [](TraceSet& set) {
       set.add({compute(1, "first"), compute(2, "second")});
       cut(set.file(0), 3);
     },
     // The metadata frame is 1 + 2 + 5 bytes; node 1 is 1 + 2 (id) + 7 (name) + 2 (type).
     {"w.0.et: frame 2 at byte 20: the file ends within the frame"}},
    {"TruncatedGzip",
     [](TraceSet& set) {
       TraceSet::write(set.file(0) + ".gz", {compute(1, "first"), compute(2, "second")});
       cut(set.file(0) + ".gz", 9);
     },
     {"w.0.et.gz: frame ", "the compressed stream ends too early"}},
    {"GarbageFrame",
     [](TraceSet& set) {
       set.add(kOne);
       std::ofstream(set.file(0), std::ios::binary | std::ios::app) << std::string("\x03\xff\xff\xff", 4);
     },
     // Metadata 8 bytes, node 1 + 2 + 3 + 2.
     {"w.0.et: frame 2 at byte 16: not a Chakra node"}},
    {"TextFile",
     [](TraceSet& set) { overwrite(set.file(0), "DATA\n54\nconv1 -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9 1\n"); },
     {"w.0.et: frame 0 at byte 0"}},
    {"HugeFrame",
     [](TraceSet& set) { overwrite(set.file(0), std::string("\xff\xff\xff\xff\x0f", 5)); },
     {"w.0.et: frame 0 at byte 0: a frame of 4294967295 bytes"}},
    {"EndlessLength",
     [](TraceSet& set) { overwrite(set.file(0), std::string(16, '\xff')); },
     {"w.0.et: frame 0 at byte 0: the length of the frame is no 32-bit varint"}},
    {"EmptyFile", [](TraceSet& set) { overwrite(set.file(0), ""); }, {"w.0.et: the trace has no nodes"}},
    {"MetadataOnly", ranks({Nodes{}}), {"w.0.et: the trace has no nodes"}},
    {"NoFile", ranks({}), {"no trace: neither a file ", "w.0.et exists", ".eg, .json, .gz or .zst"}},
    {"MissingRankFile",
     [](TraceSet& set) {
       set.add(kOne);
       TraceSet::write(set.file(2), kOne);
     },
     {"the trace of rank 1 is missing", "w.2.et", "w.1.et, .eg or .json"}},
    {"MissingFileOfAList",
     [](TraceSet& set) {
       set.add(kOne);
       set.options.traces = {set.file(0), set.file(1)};
     },
     {"the trace of rank 1 is missing: no file ", "w.1.et"}},
    {"TwoFilesOfOneRank",
     [](TraceSet& set) {
       set.add(kOne);
       TraceSet::write(set.file(0) + ".gz", kOne);
     },
     {"are both the trace of rank 0"}},
    {"DuplicateId",
     ranks({{compute(7, "a"), compute(7, "b")}}),
     {"w.0.et: node 7 \"b\": the id is that of node \"a\" already"}},
    {"MissingParent",
     ranks({{compute(1, "a").after({42})}}),
     {"w.0.et: node 1 \"a\": its data dependency on node 42 does not resolve"}},
    {"MissingControlParent",
     ranks({{compute(1, "a").after_control({42})}}),
     {"w.0.et: node 1 \"a\": its control dependency on node 42 does not resolve"}},
    {"Cycle",
     ranks({{compute(1, "a").after({3}), compute(2, "b").after({1}), compute(3, "c").after({2})}}),
     {"w.0.et: node 1 \"a\": its dependencies are a cycle: 1 \"a\" -> 2 \"b\" -> 3 \"c\" -> 1"}},
    {"CollectiveDeadlock",
     ranks({{collective(1, "x").size(8).after({2}), collective(2, "y").size(8)},
            {collective(5, "x").size(8), collective(6, "y").size(8).after({5})}}),
     {"w.0.et: node 1 \"x\": the ranks wait for each other",
      "rank 0 node 1 \"x\" (all_reduce 0 of group \"all\") -> rank 0 node 2 \"y\" (all_reduce 1 of group \"all\")"}},
    {"MessageDeadlock",
     ranks({{receive(1, "r0", 1).size(8), send(2, "s0", 1).size(8).after({1})},
            {receive(1, "r1", 0).size(8), send(2, "s1", 0).size(8).after({1})}}),
     {"the ranks wait for each other", "rank 0 node 2 \"s0\" -> rank 1 node 1 \"r1\" -> rank 1 node 2 \"s1\""}},
    {"UnmatchedSend",
     ranks({{send(3, "s", 1).size(8).integer("comm_tag", 6)}, kOne}),
     {"w.0.et: node 3 \"s\": the message to rank 1 with tag 6 has no counterpart in ", "w.1.et"}},
    {"UnmatchedReceive",
     ranks({{receive(3, "r", 1).size(8)}, kOne}),
     {"w.0.et: node 3 \"r\": the message from rank 1 with tag 0 has no counterpart in ", "w.1.et"}},
    {"OneSendTooMany",
     ranks({{send(3, "s", 1).size(8), send(4, "again", 1).size(8)}, {receive(1, "r", 0).size(8)}}),
     {"w.0.et: node 4 \"again\": the message to rank 1 with tag 0 has no counterpart"}},
    {"MessageOfTwoSizes",
     ranks({{send(3, "s", 1).size(8)}, {receive(4, "r", 0).size(9)}}),
     {"w.0.et: node 3 \"s\": sends 8 bytes, but its counterpart ", "w.1.et: node 4 \"r\" receives 9"}},
    {"CollectiveOfTwoKinds",
     ranks({{collective(1, "x").size(8)}, {collective(2, "y", CollectiveKind::kAllGather).size(8)}}),
     {"w.1.et: node 2 \"y\": collective 0 of group \"all\" is all_gather of 8 bytes, but on ",
      "w.0.et: node 1 \"x\" it is all_reduce of 8 bytes"}},
    {"CollectiveOfTwoSizes",
     ranks({{collective(1, "x", CollectiveKind::kAllToAll).size(8)},
            {collective(2, "y", CollectiveKind::kAllToAll).size(16)}}),
     {"w.1.et: node 2 \"y\"", "all_to_all of 16 bytes", "w.0.et: node 1 \"x\"", "all_to_all of 8 bytes"}},
    {"SplitsThatAreNotTheSum",
     ranks({{collective(1, "x", CollectiveKind::kAllToAll).size(8).text("comm_splits", "[3, 4]")}, kOne}),
     {"w.0.et: node 1 \"x\": comm_splits are 7 bytes together, comm_size 8"}},
    {"SplitsOfAnAllReduce",
     ranks({{collective(1, "x").size(8).text("comm_splits", "[4, 4]")}, kOne}),
     {"w.0.et: node 1 \"x\": comm_splits are of ALL_TO_ALL, ALL_GATHER and REDUCE_SCATTER, but it is all_reduce"}},
    {"SplitsThatAreNoList",
     ranks({{collective(1, "x", CollectiveKind::kAllToAll).size(8).text("comm_splits", "4 4")}, kOne}),
     {"w.0.et: node 1 \"x\": attribute comm_splits is no list of integers from 0 on but the text \"4 4\""}},
    {"TooFewSplits",
     ranks({{collective(1, "x", CollectiveKind::kAllToAll).size(8).text("comm_splits", "[8]")},
            {collective(2, "y", CollectiveKind::kAllToAll).size(8).text("comm_splits", "[8]")}}),
     {"w.0.et: node 1 \"x\": 1 comm_splits in group \"all\" of 2 members"}},
    {"SplitsOnOneSide",
     ranks({{collective(1, "x", CollectiveKind::kAllToAll).size(8).text("comm_splits", "[4, 4]")},
            {collective(2, "y", CollectiveKind::kAllToAll).size(8)}}),
     {"w.1.et: node 2 \"y\": the comm_splits of collective 0 of group \"all\" are not those on ", "w.0.et: node 1"}},
    {"SplitsThatDisagree",
     ranks({{collective(1, "x", CollectiveKind::kReduceScatter).size(8).text("comm_splits", "[4, 4]")},
            {collective(2, "y", CollectiveKind::kReduceScatter).size(8).text("comm_splits", "[3, 5]")}}),
     {"w.1.et: node 2 \"y\": the comm_splits of collective 0 of group \"all\" are not those on ", "w.0.et: node 1"}},
    {"AnInputThatIsNotItsSplit",
     ranks({{collective(1, "x", CollectiveKind::kAllGather).size(4).text("comm_splits", "[4, 5]")},
            {collective(2, "y", CollectiveKind::kAllGather).size(4).text("comm_splits", "[4, 5]")}}),
     {"w.1.et: node 2 \"y\": has 4 bytes, but the comm_splits have 5 for rank 1"}},
    {"CollectiveOfTwoRoots",
     ranks({{collective(1, "x", CollectiveKind::kBroadcast).size(8).integer("root", 0)},
            {collective(2, "y", CollectiveKind::kBroadcast).size(8).integer("root", 1)}}),
     {"w.1.et: node 2 \"y\"", "broadcast of 8 bytes with root 1", "with root 0"}},
    {"CollectiveMissingAtAMember",
     ranks({{collective(1, "x").size(8), collective(2, "extra").size(8)}, {collective(2, "y").size(8)}}),
     {"w.0.et: node 2 \"extra\": collective 1 of group \"all\" has no counterpart in ", "w.1.et, which has 1"}},
    {"UnknownGroup",
     ranks_in_groups({{collective(4, "x").size(8).group("dp_1")}}, R"({"tp_0": [0], "tp_1": [0]})"),
     {"w.0.et: node 4 \"x\": group \"dp_1\" is not defined; known groups: \"tp_0\", \"tp_1\""}},
    {"RankNotInGroup",
     ranks_in_groups({{collective(4, "x").size(8).group("g")}, {collective(5, "y").size(8).group("g")}},
                     R"({"g": [0]})"),
     {"w.1.et: node 5 \"y\": rank 1 is not in group \"g\", which it calls"}},
    {"GroupRankOutOfRange",
     ranks_in_groups({kOne}, R"({"g": [0, 1]})"),
     {"groups.json: group \"g\": rank 1 does not exist, there are 1 ranks"}},
    {"GroupWithARankTwice", ranks_in_groups({kOne}, R"({"g": [0, 0]})"), {"groups.json: group \"g\" has rank 0 twice"}},
    {"GroupsFileMalformed",
     ranks_in_groups({kOne}, R"({"g": [0)"),
     {"groups.json:1: is no file of process groups: it ends too early"}},
    {"GroupsFileOfAnotherKind",
     ranks_in_groups({kOne}, R"({"g": 3})"),
     {"groups.json: group \"g\" is no list of ranks"}},
    {"MetadataGroupsMalformed",
     ranks(
         {{Make(chakra::METADATA_NODE, 3, "## process_group:init ##").values(R"(['[{"pg_name": "1", "ranks": [0')")}}),
     {"w.0.et: node 3 \"## process_group:init ##\": the process groups are neither JSON nor a Python list"}},
    {"MetadataGroupWithoutRanks",
     ranks({{Make(chakra::METADATA_NODE, 3, "init").values(R"(['[{"pg_name": "1"}]'])")}}),
     {"w.0.et: node 3 \"init\": a process group needs pg_name and ranks"}},
    {"CollectiveWithoutSize", ranks({{collective(4, "x")}}), {"w.0.et: node 4 \"x\": has no comm_size"}},
    {"NegativeSize", ranks({{collective(4, "x").size(-1)}}), {"w.0.et: node 4 \"x\": comm_size is -1"}},
    {"AbsurdSize",
     ranks({{collective(4, "x").size(INT64_MAX)}}),
     {"w.0.et: node 4 \"x\": comm_size is 9223372036854775807"}},
    {"SizeAsText",
     ranks({{collective(4, "x").text("comm_size", "1 MiB")}}),
     {"w.0.et: node 4 \"x\": attribute comm_size is no 64-bit integer"}},
    {"UnknownCollective",
     ranks({{Make(chakra::COMM_COLL_NODE, 4, "x").size(8).integer("comm_type", 10)}}),
     {"w.0.et: node 4 \"x\": comm_type 10 is no collective"}},
    {"RootNotInGroup",
     ranks({{collective(4, "x", CollectiveKind::kBroadcast).size(8).integer("root", 5)}}),
     {"w.0.et: node 4 \"x\": root 5 is not in group \"all\""}},
    {"SendWithoutDestination",
     ranks({{Make(chakra::COMM_SEND_NODE, 4, "s").size(8)}}),
     {"w.0.et: node 4 \"s\": has no comm_dst"}},
    {"ReceiveWithoutSource",
     ranks({{Make(chakra::COMM_RECV_NODE, 4, "r").size(8)}}),
     {"w.0.et: node 4 \"r\": has no comm_src"}},
    {"SendWithoutSize", ranks({{send(4, "s", 1)}, kOne}), {"w.0.et: node 4 \"s\": has no comm_size"}},
    {"PeerOutOfRange",
     ranks({{send(4, "s", 9).size(8)}, kOne}),
     {"w.0.et: node 4 \"s\": comm_dst is 9, but there are 2 ranks"}},
    {"PeerIsTheRankItself",
     ranks({{send(4, "s", 0).size(8)}}),
     {"w.0.et: node 4 \"s\": comm_dst is 0, the rank itself"}},
    {"SourceIsAnotherRank",
     ranks({{send(4, "s", 1).size(8).integer("comm_src", 1)}, kOne}),
     {"w.0.et: node 4 \"s\": comm_src is 1, but this is the trace of rank 0"}},
    {"EndlessDuration",
     ranks({{compute(4, "c").micros(UINT64_MAX)}}),
     {"w.0.et: node 4 \"c\": a duration of 18446744073709551615 us, the most is 2305843009213"}},
    {"DurationThatNoRecordHolds",  // 2^61 ps are 2,305,843,009,213 us and some
     ranks({{compute(4, "c").micros(2'305'843'009'214)}}),
     {"w.0.et: node 4 \"c\": a duration of 2305843009214 us, the most is 2305843009213"}},
    {"NegativeOperations", ranks({{compute(4, "c").integer("num_ops", -5)}}), {"w.0.et: node 4 \"c\": num_ops is -5"}},
};

class WrongTraces : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongTraces, AreRefusedWithFileNodeAndName) {
  TraceSet set;
  GetParam().write(set);
  const std::string error = set.error();
  EXPECT_NE(error, "");
  for (const char* part : GetParam().message) EXPECT_THAT(error, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(All, WrongTraces, ::testing::ValuesIn(kWrong),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(WrongGroups, AreNoMoreThanAMessageIdCanName) {
  TraceSet set({kOne});
  std::string json = "{";
  for (uint64_t group = 0; group <= MessageId::kMaxGroups; ++group) json += fmt::format("\"g{}\": [0],", group);
  json.back() = '}';
  set.groups(json);
  EXPECT_THAT(set.error(), HasSubstr("there are more than 65535 process groups"));
}

TEST(WrongOptions, AreRefused) {
  TraceSet set({kOne});
  set.options.element_size = Bytes(0);
  EXPECT_THAT(set.error(), HasSubstr("the element size is 0 bytes"));
  set.options.element_size = Bytes(1);
  set.options.bytes = {1, 0};
  EXPECT_THAT(set.error(), HasSubstr("the scale of bytes is 1/0"));
}

}  // namespace
}  // namespace rankwire
