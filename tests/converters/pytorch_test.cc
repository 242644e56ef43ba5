#include "converters/pytorch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/error.h"
#include "converters/json_fields.h"
#include "proto/chakra.pb.h"
#include "tests/converters/written_trace.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::depends;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_named;
using testing::read_written;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using testing::WrittenNode;

/// Builds a trace of Kineto's event by event. Times are in microseconds.
class Events {
 public:
  Events& add(const std::string& category, const std::string& name, int thread, double begin, double duration,
              const std::string& arguments) {
    text_ += fmt::format(R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}, "dur": {},)"
                         R"( "args": {{{}}}}})",
                         text_.empty() ? "" : ",\n", category, name, thread, begin, duration, arguments);
    return *this;
  }
  Events& host(const std::string& name, double begin, double duration, int thread = 1) {
    return add("cpu_op", name, thread, begin, duration, fmt::format(R"("Record function id": {})", ++functions_));
  }
  /// A launch of 1 us and what it launches.
  Events& launch(const std::string& kernel, double call, double begin, double duration, int stream, int thread = 1,
                 const std::string& arguments = "") {
    ++correlation_;
    add("cuda_runtime", "cudaLaunchKernel", thread, call, 1, fmt::format(R"("correlation": {})", correlation_));
    return add("kernel", kernel, 0, begin, duration,
               fmt::format(R"("stream": {}, "correlation": {}{})", stream, correlation_, arguments));
  }
  Events& call(const std::string& name, double begin, double duration, int correlation) {
    return add("cuda_runtime", name, 1, begin, duration, fmt::format(R"("correlation": {})", correlation));
  }
  std::string json(const std::string& info = R"({"rank": 0})") const {
    return fmt::format("{{\"schemaVersion\": 1, \"distributedInfo\": {}, \"traceEvents\": [\n{}\n]}}", info, text_);
  }

 private:
  std::string text_;
  int functions_ = 0, correlation_ = 1000;
};

class Pytorch : public ::testing::Test {
 protected:
  std::vector<WrittenNode> convert(const Events& events, const std::string& info = R"({"rank": 0})") {
    return convert_files({testing::write_text(folder_ / "kineto.json", events.json(info))});
  }
  std::vector<WrittenNode> convert_files(const std::vector<std::string>& files) {
    ConversionProgress progress;
    made_ = convert_pytorch(pair_pytorch_files(files), folder_ / "out", progress);
    return read_written(trace_file(made_.prefix, 0));
  }
  void convert_again(const std::vector<std::string>& files, const PytorchOptions& options) {
    std::filesystem::remove_all(folder_ / "out");
    ConversionProgress progress;
    made_ = convert_pytorch(pair_pytorch_files(files), folder_ / "out", progress, options);
  }
  std::string error_of(const std::string& json) {
    try {
      convert_files({testing::write_text(folder_ / "wrong.json", json)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

const std::string kAllReduce =
    R"(, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "Group size": 2, )"
    R"("dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]")";

TEST_F(Pytorch, AnOperatorHasTheTimeThatThoseWithinItDoNotHave) {
  const auto nodes = convert(Events().host("outer", 0, 100).host("inner", 20, 30).host("next", 100, 7));
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[0].name, "outer");
  EXPECT_EQ(nodes[0].micros, 70u);
  EXPECT_EQ(nodes[1].name, "inner");
  EXPECT_EQ(nodes[1].micros, 30u);
  EXPECT_THAT(nodes[1].after, ElementsAre(0));
  EXPECT_EQ(nodes[2].micros, 7u);
  EXPECT_THAT(nodes[2].after, ElementsAre(1));
  EXPECT_TRUE(nodes[2].on_host);
}

// The host from 0.4 to 100.4 with an inner operator from 20.2 to 50.9, a kernel of 5.5 us and an all-reduce behind it.
// Both ends are rounded down and count from 1, so that all is at work when it was, and the outer operator goes on
// at 50.
TEST_F(Pytorch, StartTimesAreThoseOfTheRecording) {
  Events events;
  events.host("outer", 0.4, 100).host("inner", 20.2, 30.7);
  events.launch("gemm", 25, 30.6, 5.5, 7).launch("ncclDevKernel_AllReduce", 60, 61.2, 40.9, 9, 1, kAllReduce);
  const std::string file = testing::write_text(folder_ / "kineto.json", events.json());
  convert_again({file}, {.start_times = true});
  const auto nodes = read_written(trace_file(made_.prefix, 0));
  using Times = std::tuple<std::string, uint64_t, uint64_t>;
  std::vector<Times> times;
  for (const WrittenNode& node : nodes)
    if (!node.group.empty() || node.on_host || node.name == "gemm")
      times.emplace_back(node.name, node.start, node.micros);
  EXPECT_THAT(times, UnorderedElementsAre(Times("outer", 1, 20), Times("inner", 21, 30), Times("outer", 51, 50),
                                          Times("gemm", 31, 6), Times("ncclDevKernel_AllReduce", 62, 41)));
  convert_again({file}, {});
  for (const WrittenNode& node : read_written(trace_file(made_.prefix, 0))) EXPECT_EQ(node.start, 0u);
}

TEST_F(Pytorch, OtherBackendsAreNamed) {
  Events events;
  events.add("user_annotation", "gloo:all_reduce", 1, 0, 10, "").host("gloo:barrier", 20, 5).host("aten::mul", 30, 5);
  convert(events);
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("1 gloo:all_reduce, 1 gloo:barrier: stays time of the host")));
}

// As its profiler has it: operations with a stream, copies among them, and others of the command processor without one.
TEST_F(Pytorch, OperationsOfMtiaAreTheAccelerators) {
  Events events;
  events.add("mtia_runtime", "runFunction", 1, 10, 5, R"("correlation": 4)");
  events.add("mtia_ccp_events", "fc-dtype_Float", 9, 20, 30, R"("stream": 1, "correlation": 4)");
  events.add("mtia_ccp_events", "dma_request", 9, 60, 5, R"("stream": 1, "size": 16)");
  events.add("mtia_ccp_events", "dma_request", 9, 70, 5, R"("size": 16)");
  const auto nodes = convert(events);
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].micros, 30u);
  EXPECT_THAT(nodes[1].after, ElementsAre(0));
}

TEST_F(Pytorch, KernelsThatCommunicateWithoutNcclAreNamed) {
  Events events;
  events.launch("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>", 0, 10, 5, 7);
  events.launch("void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*)", 20, 30, 5, 7);
  events.launch("gemm", 40, 50, 5, 7);
  convert(events);
  EXPECT_EQ(made_.counts.collectives, 0);
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("2 kernels that communicate without NCCL")));
}

TEST_F(Pytorch, RanksThatWereNotRecordedAreNamedOrCopied) {
  const std::string info = R"({"rank": 1, "world_size": 4})", every = R"([0, 1, 2, 3])";
  std::string all = kAllReduce;
  all.replace(all.find("[0, 1]"), 6, every);
  const std::string file = testing::write_text(
      folder_ / "k.json", Events().launch("ncclDevKernel_AllReduce_Sum", 0, 10, 5, 7, 1, all).json(info));
  convert_again({file}, {});
  EXPECT_THAT(made_.warnings, ElementsAre(HasSubstr("no trace is of ranks 0, 2-3 of 4")));
  convert_again({file}, {.fill = {.fill_missing = true}});
  EXPECT_EQ(made_.ranks, 4);
  EXPECT_EQ(made_.counts.bytes, 4 * 400);
  EXPECT_THAT(made_.warnings, IsEmpty());
  EXPECT_THAT(made_.assumptions, ElementsAre("ranks 0, 2-3 do what rank 1 does"));
  EXPECT_EQ(node_named(read_written(trace_file(made_.prefix, 3)), "ncclDevKernel_AllReduce_Sum").group, "0");
  EXPECT_THROW(refuse_assumptions(made_, folder_ / "out"), Error);
  EXPECT_FALSE(std::filesystem::exists(trace_file(made_.prefix, 3)));
}

TEST_F(Pytorch, TimeBetweenOperatorsIsKept) {
  const auto nodes = convert(Events().host("a", 0, 10).host("b", 35, 10).host("c", 5000, 1));
  EXPECT_EQ(nodes[1].name, "gap");
  EXPECT_EQ(nodes[1].micros, 25u);
  EXPECT_EQ(nodes[3].micros, 4955u);
  EXPECT_THAT(nodes[3].after, ElementsAre(2));
}

TEST_F(Pytorch, PartsOfMicrosecondsAddUp) {
  Events events;
  for (int i = 0; i < 10; ++i) events.host("a", i, 0.6);
  uint64_t sum = 0;
  for (const WrittenNode& node : convert(events)) sum += node.micros;
  // 10 x 0.6 us and 9 gaps of 0.4 us make 9.6 us; the whole microseconds of each would make none.
  EXPECT_EQ(sum, 9u);
}

TEST_F(Pytorch, KernelsOfAStreamFollowEachOther) {
  const auto nodes =
      convert(Events().host("a", 0, 10).launch("k1", 2, 5, 40, 7).launch("k2", 4, 45, 5, 7).launch("k3", 6, 8, 3, 9));
  const WrittenNode& host = node_named(nodes, "a");
  EXPECT_THAT(node_named(nodes, "k1").after, ElementsAre(host.id));
  EXPECT_THAT(node_named(nodes, "k2").after, UnorderedElementsAre(host.id, node_named(nodes, "k1").id));
  EXPECT_THAT(node_named(nodes, "k3").after, ElementsAre(host.id));
  EXPECT_EQ(node_named(nodes, "k2").stream, 7);
  EXPECT_FALSE(node_named(nodes, "k2").on_host);
}

TEST_F(Pytorch, TheHostWaitsForAStream) {
  // The host calls at 10 and goes on at 50, when the kernel has ended at 48: 2 us of the call are its own.
  Events events;
  events.host("a", 0, 60).launch("k", 2, 5, 43, 7).host("b", 70, 5);
  events.call("cudaStreamSynchronize", 10, 40, 5)
      .add("cuda_sync", "Stream Sync", 7, 10, 40, R"("stream": 7, "correlation": 5)");
  const auto nodes = convert(events);
  const WrittenNode& wait = node_named(nodes, "cudaStreamSynchronize");
  EXPECT_EQ(wait.micros, 2u);
  EXPECT_TRUE(depends(nodes, wait, node_named(nodes, "k")));
  EXPECT_TRUE(depends(nodes, node_named(nodes, "b"), wait));
  // What `a` did before the call, 10 us, does not wait, what it did behind, 10 us, does.
  EXPECT_EQ(node_named(nodes, "a").micros, 10u);
  EXPECT_FALSE(depends(nodes, node_named(nodes, "a"), wait));
}

TEST_F(Pytorch, WithoutSynchronizationEventsTheDeviceTellsWhatTheHostWaitedFor) {
  Events events;
  events.host("a", 0, 60).launch("long", 2, 5, 43, 7).launch("other", 3, 6, 2, 8);
  events.call("cudaStreamSynchronize", 10, 40, 5);
  const auto nodes = convert(events);
  const WrittenNode& wait = node_named(nodes, "cudaStreamSynchronize");
  EXPECT_TRUE(depends(nodes, wait, node_named(nodes, "long")));
  EXPECT_FALSE(depends(nodes, wait, node_named(nodes, "other")));
}

TEST_F(Pytorch, AStreamWaitsForAnEvent) {
  Events events;
  events.host("a", 0, 60).launch("first", 2, 5, 20, 7).launch("later", 6, 26, 5, 7).launch("waiting", 12, 31, 5, 8);
  events.call("cudaEventRecord", 4, 1, 5).call("cudaStreamWaitEvent", 10, 1, 6);
  events.add("cuda_sync", "Stream Wait Event", 8, 10, 1,
             R"("stream": 8, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 5, "correlation": 6)");
  const auto nodes = convert(events);
  EXPECT_TRUE(depends(nodes, node_named(nodes, "waiting"), node_named(nodes, "first")));
  // Launched behind the record of the event.
  EXPECT_FALSE(depends(nodes, node_named(nodes, "waiting"), node_named(nodes, "later")));
}

TEST_F(Pytorch, AnIdleThreadFollowsAnotherWhichWaitsForIt) {
  // As backward() does: thread 1 is in it from 100 to 5100, thread 2 does the work from 200 to 5000.
  Events events;
  events.host("backward", 100, 5000).host("work", 200, 4800, 2).host("step", 5100, 50);
  const auto nodes = convert(events);
  const WrittenNode& work = node_named(nodes, "work");
  EXPECT_EQ(node_named(nodes, "backward").micros, 100u);  // until the other thread begins
  EXPECT_TRUE(depends(nodes, work, node_named(nodes, "backward")));
  EXPECT_TRUE(depends(nodes, node_named(nodes, "step"), work));
  uint64_t all = 0;
  for (const WrittenNode& node : nodes) all += node.micros;
  EXPECT_EQ(all, 5050u);  // 100 to 5150: nothing counts twice
}

TEST_F(Pytorch, ACollectiveHasWhatItsKernelSays) {
  for (const char* kernel : {"ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}) {
    testing::TemporaryFolder folder;
    ConversionProgress progress;
    const auto events = Events().host("c10d::allreduce_", 0, 10).launch(kernel, 2, 5, 40.9, 9, 1, kAllReduce);
    const auto made = convert_pytorch(pair_pytorch_files({testing::write_text(folder / "k.json", events.json())}),
                                      folder / "o", progress);
    const auto nodes = read_written(trace_file(made.prefix, 0));
    const WrittenNode& node = node_named(nodes, kernel);
    EXPECT_EQ(node.type, uint32_t{chakra::COMM_COLL_NODE});
    EXPECT_EQ(node.kind, chakra::ALL_REDUCE);
    EXPECT_EQ(node.size, 400);  // 100 floats
    EXPECT_EQ(node.micros, 40u);
    EXPECT_EQ(node.group, "0");
    EXPECT_THAT(nodes[0].metadata, HasSubstr(R"("ranks":[0,1])"));
  }
}

/// A host trace of schema 1.1.1 with one record_param_comms of these inputs; rf_id 2.
std::string host_trace(const std::string& values, const std::string& outputs = "[]") {
  return fmt::format(
      R"({{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
      {{"id": 3, "name": "## process_group:init ##",
        "inputs": {{"values": ["[{{\"pg_name\": \"5\", \"ranks\": [2, 0, 1]}}]"]}},
        "attrs": [{{"name": "rf_id", "type": "uint64", "value": 1}}]}},
      {{"id": 4, "name": "record_param_comms", "inputs": {{"values": [{}]}}, "outputs": {{"values": {}}},
        "attrs": [{{"name": "rf_id", "type": "uint64", "value": 2}}]}}]}})",
      values, outputs);
}

class PytorchPairs : public Pytorch {
 protected:
  std::vector<WrittenNode> convert_call(const std::string& values, const std::string& outputs = "[]") {
    Events events;
    events.host("c10d::op", 0, 20).host("record_param_comms", 1, 18).launch("ncclDevKernel_SendRecv", 3, 5, 10, 9);
    return convert_files({testing::write_text(folder_ / "host.json", host_trace(values, outputs)),
                          testing::write_text(folder_ / "kineto.json", events.json())});
  }
};

TEST_F(PytorchPairs, APeerIsAPlaceInTheGroup) {
  const auto nodes = convert_call(R"([9, 9, 0, 6, 4, "cuda:0"], [7, true], ["5", ""], 0, "send", [], [], -1, -1, 3)");
  const WrittenNode& node = node_named(nodes, "ncclDevKernel_SendRecv");
  EXPECT_EQ(node.type, uint32_t{chakra::COMM_SEND_NODE});
  EXPECT_EQ(node.source, 0);
  EXPECT_EQ(node.destination, 2);  // the first of [2, 0, 1]
  EXPECT_EQ(node.size, 24);
}

TEST_F(PytorchPairs, AReceiveHasTheSizeOfItsTensor) {
  const auto nodes = convert_call(R"([9, 9, 0, 6, 4, "cuda:0"], [7, true], ["5", ""], 2, "recv", [], [], -1, -1, 3)",
                                  R"([[9, 9, 0, 6, 4, "cuda:0"]])");
  const WrittenNode& node = node_named(nodes, "ncclDevKernel_SendRecv");
  EXPECT_EQ(node.type, uint32_t{chakra::COMM_RECV_NODE});
  EXPECT_EQ(node.source, 1);
  EXPECT_EQ(node.destination, 0);
  EXPECT_EQ(node.size, 24);
}

TEST_F(PytorchPairs, UnequalPartsAreSplitsInBytes) {
  // 6 rows of 8 bytes: 1 to rank 2, 2 to itself, 3 to rank 1.
  const auto nodes =
      convert_call(R"([9, 9, 0, 12, 4, "cuda:0"], 7, ["5", ""], 1, "all_to_allv", [1, 2, 3], [0, 2, 2], -1, -1, 3)",
                   R"([[9, 9, 0, 8, 4, "cuda:0"]])");
  const WrittenNode& node = node_named(nodes, "ncclDevKernel_SendRecv");
  EXPECT_EQ(node.kind, chakra::ALL_TO_ALL);
  EXPECT_EQ(node.group, "5");
  EXPECT_EQ(node.size, 48);
  EXPECT_EQ(node.splits, "[8, 16, 24]");
}

TEST_F(PytorchPairs, AnUnequalExchangeOfNothing) {
  const auto nodes =
      convert_call(R"([9, 9, 0, 0, 4, "cuda:0"], 7, ["5", ""], 1, "all_to_allv", [0, 0, 0], [0, 2, 2], -1, -1, 3)",
                   R"([[9, 9, 0, 8, 4, "cuda:0"]])");
  EXPECT_EQ(node_named(nodes, "ncclDevKernel_SendRecv").splits, "[0, 0, 0]");
}

TEST_F(PytorchPairs, SplitsThatCannotBe) {
  const auto error = [&](const std::string& input, const std::string& output) {
    try {
      convert_call(fmt::format(R"([9, 9, 0, 12, 4, "cuda:0"], 7, ["5", ""], 1, "all_to_allv", {}, {}, -1, -1, 3)",
                               input, output),
                   R"([[9, 9, 0, 8, 4, "cuda:0"]])");
      return std::string();
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
  };
  EXPECT_THAT(error("[1, 2]", "[]"), HasSubstr("call 7 of group \"5\": 2 splits in a group of 3"));
  EXPECT_THAT(error("[1, -2, 7]", "[]"), HasSubstr("a split of -2"));
  EXPECT_THAT(error("[1, 2, 4]", "[]"), HasSubstr("48 bytes in 7 rows"));
  EXPECT_THAT(error("[1, 2, 3]", "[0, 0, 0]"), HasSubstr("32 bytes in 0 rows"));
}

TEST_F(PytorchPairs, ARootIsARankOfTheRun) {
  const auto nodes = convert_call(R"([[9, 9, 0, 6, 4, "cuda:0"]], 7, ["5", ""], 0, "broadcast", [], [], -1, -1, 3)");
  const WrittenNode& node = node_named(nodes, "ncclDevKernel_SendRecv");
  EXPECT_EQ(node.kind, chakra::BROADCAST);
  EXPECT_EQ(node.root, 2);
}

/// Calls as batch_isend_irecv and coalescing managers make them: NCCL launches their kernels behind all of them, at
/// endCoalescing, where PyTorch records nothing and Kineto's kernels have no arguments (pytorch's ProcessGroupNCCL.cpp;
/// mlcommons/chakra issue 178 shows such a kernel).
class PytorchBatches : public PytorchPairs {
 protected:
  /// Values of record_param_comms whose rf_id are 1, 2, ... in group "5" of the ranks 2, 0, 1, and when they run: 10 us
  /// each, one behind the other.
  std::vector<WrittenNode> convert_batch(const std::vector<std::string>& values, Events events) {
    std::string nodes;
    for (size_t i = 0; i < values.size(); ++i) {
      nodes += fmt::format(R"(, {{"id": {0}, "name": "record_param_comms", "inputs": {{"values": [{1}]}},
        "outputs": {{"values": []}}, "attrs": [{{"name": "rf_id", "type": "uint64", "value": {2}}}]}})",
                           i + 10, values[i], i + 1);
    }
    const std::string host = R"({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
      {"id": 3, "name": "## process_group:init ##",
        "inputs": {"values": ["[{\"pg_name\": \"5\", \"ranks\": [2, 0, 1]}]"]},
        "attrs": [{"name": "rf_id", "type": "uint64", "value": 99}]})" +
                             nodes + "]}";
    return convert_files({testing::write_text(folder_ / "host.json", host),
                          testing::write_text(folder_ / "kineto.json", events.json())});
  }
  static Events recorders(size_t count) {
    Events events;
    for (size_t i = 0; i < count; ++i) events.host("record_param_comms", 10.0 * static_cast<double>(i), 8);
    return events;
  }
  static std::string point_to_point(const std::string& name, int peer, int floats) {
    return fmt::format(R"([9, 9, 0, {}, 4, "cuda:0"], [7, true], ["5", ""], {}, "{}", [], [], -1, -1, 3)", floats, peer,
                       name);
  }
  static std::string all_gather(int floats) {
    return fmt::format(R"([9, 9, 0, {}, 4, "cuda:0"], [7, false], ["5", ""], 1, "_allgather_base", [], [], -1, -1, 3)",
                       floats);
  }
  /// Type, other rank and bytes of what communicates.
  static std::vector<std::tuple<uint32_t, int64_t, int64_t>> messages(const std::vector<WrittenNode>& nodes) {
    std::vector<std::tuple<uint32_t, int64_t, int64_t>> all;
    for (const WrittenNode& node : nodes) {
      const bool sends = node.type == uint32_t{chakra::COMM_SEND_NODE};
      if (node.size >= 0) all.emplace_back(node.type, sends ? node.destination : node.source, node.size);
    }
    return all;
  }
};

constexpr uint32_t kSend = chakra::COMM_SEND_NODE, kReceive = chakra::COMM_RECV_NODE;

TEST_F(PytorchBatches, OneKernelCarriesAllSendsAndReceives) {
  const auto nodes = convert_batch(
      {point_to_point("send", 0, 6), point_to_point("recv", 2, 5)},
      recorders(2).launch("ncclDevKernel_SendRecv", 20, 25, 30, 9).host("next", 30, 5).launch("compute", 31, 60, 5, 9));
  EXPECT_THAT(messages(nodes), ElementsAre(std::tuple(kSend, 2, 24), std::tuple(kReceive, 1, 20)));
  const auto send = std::ranges::find(nodes, kSend, &WrittenNode::type);
  const auto receive = std::ranges::find(nodes, kReceive, &WrittenNode::type);
  EXPECT_FALSE(depends(nodes, *receive, *send)) << "else two ranks that first send to each other would wait for ever";
  EXPECT_TRUE(depends(nodes, node_named(nodes, "compute"), *send));
  EXPECT_TRUE(depends(nodes, node_named(nodes, "compute"), *receive));
  EXPECT_THAT(made_.warnings, ::testing::Not(::testing::Contains(HasSubstr("became computations"))));
}

TEST_F(PytorchBatches, EachBatchHasItsOwnCalls) {
  Events events = recorders(1).launch("ncclDevKernel_SendRecv", 9, 12, 3, 9);
  events.host("record_param_comms", 20, 8).launch("ncclDevKernel_SendRecv", 29, 32, 3, 9);
  const auto nodes = convert_batch({point_to_point("send", 0, 6), point_to_point("send", 0, 7)}, events);
  EXPECT_THAT(messages(nodes), ElementsAre(std::tuple(kSend, 2, 24), std::tuple(kSend, 2, 28)));
}

TEST_F(PytorchBatches, FurtherKernelsOfABatchAreComputations) {
  const auto nodes =
      convert_batch({all_gather(6), all_gather(8)}, recorders(2)
                                                        .launch("ncclDevKernel_AllGather_RING_LL", 20, 25, 3, 9)
                                                        .launch("ncclDevKernel_AllGather_RING_LL", 22, 28, 3, 9));
  const uint32_t collective = chakra::COMM_COLL_NODE;
  EXPECT_THAT(messages(nodes), ElementsAre(std::tuple(collective, -1, 24), std::tuple(collective, -1, 32)));
  EXPECT_THAT(made_.warnings, ::testing::Not(::testing::Contains(HasSubstr("nothing recorded says"))));
}

TEST_F(PytorchBatches, AKernelTakesNoCallOfAnotherKind) {
  // The first call is of a backend without kernels, such as Gloo.
  const auto nodes = convert_batch({all_gather(6), point_to_point("recv", 2, 5)},
                                   recorders(2).launch("ncclDevKernel_SendRecv", 20, 25, 3, 9));
  EXPECT_THAT(messages(nodes), ElementsAre(std::tuple(kReceive, 1, 20)));
}

TEST_F(PytorchBatches, ACallOfSeveralTensorsIsOneCollective) {
  // allreduce_coalesced, reduce_scatter_tensor_coalesced, ...: NCCL's group ends within the one recorded call.
  const std::string values =
      R"([[9, 9, 0, 6, 4, "cuda:0"], [9, 9, 0, 4, 2, "cuda:0"]], [7, false], ["5", ""], 1, "allreduce_coalesced", [], [],
         -1, -1, 3)";
  const auto nodes =
      convert_batch({values}, recorders(1).launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 3, 25, 3, 9));
  EXPECT_THAT(messages(nodes), ElementsAre(std::tuple(uint32_t{chakra::COMM_COLL_NODE}, -1, 32)));
}

TEST_F(Pytorch, NewerKinetoTracesKnowTheCallsOfABatchThemselves) {
  const std::string common = R"("In msg nelems": 6, "Out msg nelems": 6, "Group size": 2, "dtype": "BFloat16", )"
                             R"("Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Collective name": )";
  const auto nodes = convert(Events()
                                 .add("cpu_op", "record_param_comms", 1, 0, 8, common + R"("send", "Dst Rank": 1)")
                                 .add("cpu_op", "record_param_comms", 1, 10, 8, common + R"("recv", "Src Rank": 1)")
                                 .launch("ncclDevKernel_SendRecv", 20, 25, 3, 9));
  const auto send = std::ranges::find(nodes, kSend, &WrittenNode::type);
  ASSERT_NE(send, nodes.end());
  EXPECT_EQ(send->destination, 1);
  EXPECT_EQ(send->size, 12);  // 6 of 2 bytes
  const auto receive = std::ranges::find(nodes, kReceive, &WrittenNode::type);
  ASSERT_NE(receive, nodes.end());
  EXPECT_EQ(receive->source, 1);
}

TEST_F(PytorchPairs, WithoutEventsWorkBehindAWaitFollowsTheCollective) {
  Events events;
  events.host("a", 0, 2).host("record_param_comms", 10, 10).launch("compute1", 1, 3, 5, 7);
  events.launch("ncclKernel_AllReduce", 12, 15, 100, 9).host("b", 22, 4).launch("compute2", 23, 25, 5, 7);
  events.host("record_param_comms", 30, 2).host("c", 40, 4).launch("compute3", 42, 120, 5, 7);
  const std::string host =
      R"({"schema": "1.0.1", "nodes": [{"name": "record_param_comms", "id": 5, "rf_id": 2, "inputs":
      [[[1, 1, 0, 10, 4, "cuda:0"]], 151, 99, 0, "allreduce", [], []], "outputs": []},
      {"name": "record_param_comms", "id": 7, "rf_id": 4, "inputs": [151, 0, 0, "wait", [], []], "outputs": []}]})";
  const auto nodes = convert_files(
      {testing::write_text(folder_ / "host.json", host), testing::write_text(folder_ / "kineto.json", events.json())});
  const WrittenNode& collective = node_named(nodes, "ncclKernel_AllReduce");
  EXPECT_EQ(collective.size, 40);
  EXPECT_TRUE(depends(nodes, collective, node_named(nodes, "compute1")));
  EXPECT_FALSE(depends(nodes, node_named(nodes, "compute2"), collective));
  EXPECT_TRUE(depends(nodes, node_named(nodes, "compute3"), collective));
}

TEST_F(Pytorch, WrongInputIsNamed) {
  EXPECT_THAT(error_of("{}"), HasSubstr("neither a host trace of PyTorch"));
  EXPECT_THAT(error_of(R"({"nodes": [)"), HasSubstr("1 host traces, but 0 of Kineto's"));
  EXPECT_THAT(error_of(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "tid": 1}]})"),
              HasSubstr("traceEvents[0]: ts is no number"));
  EXPECT_THAT(error_of(R"({"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1}]})"),
              HasSubstr("traceEvents[0]: a kernel without args.stream"));
  EXPECT_THAT(error_of(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "tid": 1, "ts": 1, "dur": -4}]})"),
              HasSubstr("dur is no duration"));
  EXPECT_THAT(error_of(R"({"distributedInfo": {"rank": 2, "world_size": 2}, "traceEvents": []})"),
              HasSubstr("rank 2 of a world_size of 2"));
  EXPECT_THAT(error_of(R"({"traceEvents": []})"), HasSubstr("no operator, kernel or copy"));
  EXPECT_THAT(error_of(R"({"traceEvents": 5})"), HasSubstr("wrong.json: traceEvents is no list"));
  // A gzip member's header, and nothing behind it.
  EXPECT_THAT(error_of(std::string("\x1F\x8B\x08\0\0\0\0\0\0\x03", 10)),
              HasSubstr("wrong.json: the compressed stream ends too early"));
  EXPECT_THAT([&] { pair_pytorch_files({folder_.path()}); },
              ::testing::ThrowsMessage<Error>(EndsWith("is a directory, not a file")));
  for (const char* duration : {R"("soon")", "null", "1e99", "[]"})
    EXPECT_THAT(error_of(fmt::format(
                    R"({{"traceEvents": [{{"ph": "X", "cat": "cpu_op", "tid": 1, "ts": 1, "dur": {}}}]}})", duration)),
                HasSubstr("traceEvents[0]: dur is no number of microseconds"));
  EXPECT_THAT(error_of(R"({"traceEvents": [{"ph": "X", )"), HasSubstr("wrong.json: the JSON: "));
  EXPECT_THAT(error_of(Events()
                           .launch("ncclDevKernel_AllReduce", 1, 2, 3, 4, 1,
                                   R"(, "Collective name": "allreduce", "In msg nelems": 1, "dtype": "Float3")")
                           .json()),
              HasSubstr("dtype \"Float3\""));
}

TEST_F(Pytorch, NanosecondsAreExact) {
  EXPECT_EQ(nanoseconds_of("1694128201435418.123"), 1694128201435418123);
  EXPECT_EQ(nanoseconds_of("12"), 12000);
  EXPECT_EQ(nanoseconds_of("-0.5"), -500);
  EXPECT_EQ(nanoseconds_of("0.0009"), 0);
  EXPECT_EQ(nanoseconds_of("1e3"), 1'000'000);
  EXPECT_FALSE(nanoseconds_of("abc"));
  EXPECT_FALSE(nanoseconds_of("9223372036854775807"));
}

TEST_F(Pytorch, FilesArePairedByTheNumbersInTheirNames) {
  std::vector<std::string> files;
  for (const int i : {10, 9, 1}) {
    files.push_back(testing::write_text(folder_ / fmt::format("h_{}.json", i), R"({"nodes": []})"));
    files.push_back(testing::write_text(folder_ / fmt::format("k{}_x.json", i), R"({"traceEvents": []})"));
  }
  const auto pairs = pair_pytorch_files(files);
  ASSERT_THAT(pairs, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    const int number = std::array{1, 9, 10}[i];
    EXPECT_THAT(pairs[i].host, HasSubstr(fmt::format("h_{}.json", number)));
    EXPECT_THAT(pairs[i].kineto, HasSubstr(fmt::format("k{}_x.json", number)));
  }
}

/// What Chakra's own linker and converter make of the same pair (see the manifest of the data).
TEST_F(Pytorch, CollectivesAreThoseOfChakrasConverter) {
  RANKWIRE_REQUIRE_DATA(archive, "traces/pytorch/oracle_resnet_ddp_rank0_host103_kineto_linked_et.tar.xz");
  ASSERT_NO_FATAL_FAILURE(testing::unpack(archive, folder_));
  const auto ours = convert_files({folder_ / "host.json", folder_ / "device.json"});
  const auto theirs = read_written(folder_ / "chakra.0.et");
  using Collective = std::tuple<std::string, int64_t, int64_t, uint64_t, int64_t>;
  const auto collectives = [](const std::vector<WrittenNode>& nodes) {
    std::vector<Collective> all;
    for (const WrittenNode& node : nodes) {
      if (node.type == chakra::COMM_COLL_NODE) {
        all.emplace_back(node.name, node.kind, node.size, node.micros, node.stream);
      }
    }
    return all;
  };
  EXPECT_THAT(collectives(ours), SizeIs(21));
  EXPECT_EQ(collectives(ours), collectives(theirs));
  // Kernels and copies by stream: as many, but for the 114 that set memory, which Chakra leaves out.
  std::map<int64_t, int> ours_on, theirs_on;
  int fills = 0;
  for (const WrittenNode& node : ours) {
    if (node.on_host || node.stream < 0) continue;
    node.name.starts_with("Memset") ? ++fills : ++ours_on[node.stream];
  }
  for (const WrittenNode& node : theirs) {
    if (!node.on_host) ++theirs_on[node.stream];
  }
  EXPECT_EQ(ours_on, theirs_on);
  EXPECT_EQ(fills, 114);
  // Chakra's converter loses the process group's name (NCCL 2.17).
  for (const WrittenNode& node : ours) {
    if (node.type == chakra::COMM_COLL_NODE) {
      EXPECT_EQ(node.group, "0");
    }
  }
  // Alone, without waiting for other ranks, it takes as long as it was recorded to: 667.226 ms from the first operator
  // or kernel to the last. (Where the time went within an operator is not kept, which moves some by microseconds.)
  std::vector<uint64_t> end(ours.size());
  uint64_t last = 0;
  for (const WrittenNode& node : ours) {
    uint64_t begin = 0;
    for (const uint64_t id : node.after) begin = std::max(begin, end[id]);
    end[node.id] = begin + node.micros;
    last = std::max(last, end[node.id]);
  }
  EXPECT_NEAR(static_cast<double>(last), 667'226, 0.005 * 667'226);
}

}  // namespace
}  // namespace rankwire
