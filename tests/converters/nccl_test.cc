#include "converters/nccl.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "proto/chakra.pb.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_named;
using testing::read_written;
using ::testing::SizeIs;
using testing::WrittenNode;

/// As src/init.cc and src/enqueue.cc of NCCL print them. The device is the process's last digit.
std::string init(int process, const std::string& communicator, int rank, int ranks, const std::string& id) {
  return fmt::format(
      "node-1:{0}:9 [{5}] NCCL INFO ncclCommInitRank comm {1} rank {2} nranks {3} cudaDev {5} nvmlDev 0 busId 1000{4} "
      "- Init "
      "COMPLETE\n",
      process, communicator, rank, ranks, id.empty() ? "" : " commId " + id, process % 10);
}
std::string call(int process, const std::string& operation, int number, int64_t count, int type, int root,
                 const std::string& communicator, int ranks, const std::string& stream = "0x5") {
  return fmt::format(
      "node-1:{}:8 [{}] NCCL INFO {}: opCount {:x} sendbuff 0x7f (nil) recvbuff 0x7f count {} datatype {} op 0 root {} "
      "comm {} "
      "[nranks={}] stream {}\n",
      process, process % 10, operation, number, count, type, root, communicator, ranks, stream);
}

class Nccl : public ::testing::Test {
 protected:
  Conversion convert(const std::vector<std::string>& texts, const FillOptions& options = {}) {
    std::vector<std::string> files;
    for (const std::string& text : texts) {
      files.push_back(testing::write_text(folder_ / fmt::format("log.{}", files.size()), text));
    }
    std::filesystem::remove_all(folder_ / "out");
    ConversionProgress progress;
    made_ = convert_nccl(files, folder_ / "out", progress, options);
    return made_;
  }
  std::vector<WrittenNode> rank(uint32_t number) const { return read_written(trace_file(made_.prefix, number)); }
  std::string error_of(const std::vector<std::string>& texts) {
    try {
      convert(texts);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

TEST_F(Nccl, CallsOfALogBecomeNodesWithTheirSizes) {
  // Two processes in one log, marked by a launcher; the second has rank 0.
  std::string text;
  for (const int process : {10, 11}) {
    const int rank = 11 - process;
    text += "1: " + init(process, "0xa", rank, 2, "0x77");
    text += "1: " + call(process, "AllReduce", 0, 100, 7, 0, "0xa", 2);
    text += "1: " + call(process, "AllGather", 1, 100, 9, 0, "0xa", 2);
    text += "1: " + call(process, "ReduceScatter", 2, 100, 6, 0, "0xa", 2);
    text += "1: " + call(process, "Broadcast", 3, 10, 4, 1, "0xa", 2, "0x6");
    text += "1: " + call(process, "Send", 4, 16, 0, 1 - rank, "0xa", 2);
    text += "1: " + call(process, "Recv", 4, 16, 0, 1 - rank, "0xa", 2);
  }
  const Conversion made = convert({text});
  EXPECT_EQ(made.ranks, 2);
  EXPECT_THAT(made.warnings, IsEmpty());
  EXPECT_THAT(made.assumptions, IsEmpty());
  const auto nodes = rank(0);
  EXPECT_THAT(nodes.front().metadata, HasSubstr(R"("pg_name":"0","ranks":[0,1])"));
  EXPECT_EQ(node_named(nodes, "AllReduce").size, 400);
  EXPECT_EQ(node_named(nodes, "AllReduce").group, "0");
  // What a rank gives: its part of an all-gather, parts for both of a reduce-scatter.
  EXPECT_EQ(node_named(nodes, "AllGather").size, 200);
  EXPECT_EQ(node_named(nodes, "ReduceScatter").size, 400);
  EXPECT_THAT(node_named(nodes, "AllGather").after, ElementsAre(node_named(nodes, "AllReduce").id));
  // On another stream.
  EXPECT_THAT(node_named(nodes, "Broadcast").after, IsEmpty());
  EXPECT_EQ(node_named(nodes, "Broadcast").root, 1);
  // Send and receive of one group wait for the same, not for each other.
  const WrittenNode& send = node_named(nodes, "group of calls");
  EXPECT_EQ(send.type, static_cast<uint32_t>(chakra::COMM_SEND_NODE));
  EXPECT_EQ(send.destination, 1);
  EXPECT_EQ(send.size, 16);
  EXPECT_THAT(send.after, ElementsAre(node_named(nodes, "ReduceScatter").id));
  EXPECT_THAT(nodes.at(send.id + 1).after, ElementsAre(node_named(nodes, "ReduceScatter").id));
  EXPECT_EQ(nodes.at(send.id + 1).source, 1);
}

TEST_F(Nccl, GroupsAreFoundByWhatTheirMembersLog) {
  // Four ranks, a file each; pairs {0, 2} and {1, 3} are parts of the whole without an id of their own.
  std::vector<std::string> logs;
  for (int rank = 0; rank < 4; ++rank) {
    logs.push_back(
        init(10 + rank, "0xa", rank, 4, "0x77") +
        fmt::format("node-1:{}:9 [{}] NCCL INFO ncclCommSplit comm 0xb rank {} nranks 2 cudaDev {} nvmlDev 0 busId "
                    "1000 parent 0xa childCount 1 color {} key 0 - Init COMPLETE\n",
                    10 + rank, rank, rank / 2, rank, rank % 2) +
        call(10 + rank, "AllReduce", 0, 1, 7, 0, "0xb", 2));
  }
  convert(logs);
  EXPECT_THAT(rank(1).front().metadata, HasSubstr(R"("ranks":[1,3])"));
  EXPECT_THAT(rank(2).front().metadata, HasSubstr(R"("ranks":[0,2])"));
  EXPECT_EQ(node_named(rank(0), "AllReduce").group, node_named(rank(2), "AllReduce").group);
  EXPECT_NE(node_named(rank(0), "AllReduce").group, node_named(rank(1), "AllReduce").group);
  // Without rank 2 nobody knows that it is the other member.
  logs.erase(logs.begin() + 2);
  EXPECT_THAT(error_of(logs), HasSubstr("of whose 2 members no log has rank 1: give the logs of all ranks"));
}

TEST_F(Nccl, RanksThatNoLogNamesHaveTheOrderOfProcesses) {
  convert({call(11, "AllReduce", 0, 1, 7, 0, "0xa", 2), call(10, "AllReduce", 0, 1, 7, 0, "0xb", 2)});
  EXPECT_EQ(made_.ranks, 2);
  EXPECT_THAT(made_.assumptions, ElementsAre(HasSubstr("order of hosts, devices and processes")));
  // RCCL's lines have the rank.
  std::string line = call(11, "AllReduce", 0, 1, 7, 0, "0xa", 2);
  line.insert(line.size() - 1, " task 0 globalrank 1");
  convert({line}, {.fill_missing = true});
  EXPECT_EQ(made_.ranks, 2);
  EXPECT_THAT(made_.assumptions, ElementsAre("ranks 0 do what rank 1 does"));
}

TEST_F(Nccl, BrokenLinesAreCountedAndContradictionsNamed) {
  const std::string good = call(10, "AllReduce", 0, 1, 7, 0, "0xa", 1);
  convert({good + good.substr(0, 70) + good + call(10, "AllReduce", 1, 1, 12, 0, "0xa", 1)});
  EXPECT_EQ(made_.counts.collectives, 1);
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("log.0: 2 lines of calls are broken")));
  EXPECT_THAT(error_of({call(10, "AllReduce", 1, 1, 12, 0, "0xa", 1)}), HasSubstr("no call is left: "));
  // 2^48 of 4 B (float) are the most that a call may have, 2^50 B.
  EXPECT_THAT(
      error_of({call(10, "AllReduce", 0, (int64_t{1} << 48) + 1, 7, 0, "0xa", 1)}),
      HasSubstr("log.0:1: count 281474976710657 of 4 B each is too large: a call has at most 1125899906842624 B"));
  convert({call(10, "AllReduce", 0, int64_t{1} << 42, 7, 0, "0xa", 1)});
  EXPECT_EQ(made_.counts.collectives, 1);
  EXPECT_THAT(error_of({"nothing\n"}), HasSubstr("NCCL_DEBUG_SUBSYS=INIT,COLL"));
  EXPECT_THAT(error_of({good + call(10, "AllReduce", 1, 1, 7, 0, "0xa", 2)}),
              HasSubstr("log.0:2: communicator 0xa has 2"));
  EXPECT_THAT(error_of({init(10, "0xa", 0, 2, "0x7") + init(11, "0xa", 0, 2, "0x7") +
                        call(10, "AllReduce", 0, 1, 7, 0, "0xa", 2)}),
              HasSubstr("rank 0 of communicator 0x7 is node-1:10 as well as node-1:11"));
}

std::string record(int rank, int ranks, const std::string& calls, int pid = 1) {
  return fmt::format(
      R"({{"header": {{"id": "0xc", "rank": {}, "n_ranks": {}}}, "metadata": {{"hostname": "h", "pid": {}}}, {}}})",
      rank, ranks, pid, calls);
}

TEST_F(Nccl, RecordsOfTheInspectorBecomeNodes) {
  const std::string gather =
      R"("coll_perf": {"coll": "AllGather", "coll_sn": 1, "coll_msg_size_bytes": 64, "coll_exec_time_us": 9})";
  const std::string send =
      R"("p2p_perf": {"p2p": "Send", "p2p_sn": 1, "p2p_peer": 1, "p2p_msg_size_bytes": 5, "p2p_exec_time_us": 2})";
  const std::string receive =
      R"("p2p_perf": {"p2p": "Recv", "p2p_sn": 1, "p2p_peer": 0, "p2p_msg_size_bytes": 5, "p2p_exec_time_us": 2})";
  // One process has both ranks; the second file has its header in front (4.3), and lost something.
  convert({record(0, 2, gather) + "\n" + record(0, 2, send) + "\n",
           record(1, 2, R"("dump_stats": {"coll_records": 1, "coll_dropped_since_last_dump": 3})") + "\n{" + gather +
               "}\n{\n" + receive + "}\n"});
  EXPECT_EQ(made_.ranks, 2);
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("log.1: the plug-in says that it lost 3 calls")));
  EXPECT_EQ(node_named(rank(0), "AllGather").size, 64);
  EXPECT_EQ(node_named(rank(0), "AllGather").micros, 9);
  EXPECT_EQ(node_named(rank(0), "Send").destination, 1);
  EXPECT_THAT(node_named(rank(0), "Send").after, IsEmpty());
  EXPECT_EQ(node_named(rank(1), "Recv").source, 0);
}

TEST_F(Nccl, WrongRecordsAreNamedByLineAndField) {
  EXPECT_THAT(error_of({R"({"coll_perf": {"coll": "AllReduce"}})"}),
              HasSubstr("log.0:1: a call in front of the first header"));
  EXPECT_THAT(error_of({record(0, 1, R"("coll_perf": {"coll": "AllReduce"})")}),
              HasSubstr("log.0:1: coll_perf.coll_msg_size_bytes is missing"));
  EXPECT_THAT(error_of({record(0, 1, R"("coll_perf": {"coll": "Nothing"})")}), HasSubstr("\"Nothing\" is no call"));
  EXPECT_THAT(error_of({"{\"header\": {"}), HasSubstr("ends within a record"));
  EXPECT_THAT(error_of({"{\"header\": 5}"}), HasSubstr("a header without metadata"));
}

}  // namespace
}  // namespace rankwire
