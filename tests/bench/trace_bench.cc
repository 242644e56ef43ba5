// Nodes a second from a trace's file: beside protobuf's own parse of the same frames, as nodes one by one, until an
// engine could take the first of them, and until a simulator has been fed the last.
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <cstdio>
#include <filesystem>

#include "emulator/workload/node_source.h"
#include "feeder/trace_feeder.h"
#include "proto/trace_stream.h"
#include "tests/bench/bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

constexpr uint64_t kNodes = 1'000'000;

size_t feeder_bytes = 0;  ///< of the last `feed`

/// As PyTorch's converter writes them: the attributes of an operator, its parent, and the one before it.
void write_trace(const std::string& path) {
  TraceWriter writer(path);
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  writer.write(metadata);
  for (uint64_t id = 0; id < kNodes; ++id) {
    chakra::Node node;
    node.set_id(id);
    node.set_type(chakra::COMP_NODE);
    node.set_name("aten::some_operator_" + std::to_string(id % 100));
    node.set_duration_micros(1 + id % 20);
    if (id > 0) node.add_data_deps(id - 1);
    if (id > 40) node.add_data_deps(id - 1 - id % 40);
    if (id > 0) node.add_ctrl_deps(id / 10);
    const auto add = [&](const char* name) {
      node.add_attr()->set_name(name);
      return node.mutable_attr(node.attr_size() - 1);
    };
    add("is_cpu_op")->set_bool_val(id % 2 == 0);
    add("rf_id")->set_int64_val(static_cast<int64_t>(id));
    add("fw_parent")->set_int64_val(0);
    add("seq_id")->set_int64_val(-1);
    add("scope")->set_int64_val(0);
    add("tid")->set_int64_val(1);
    add("op_schema")->set_string_val("aten::some_operator(Tensor self, Tensor other) -> Tensor");
    writer.write(node);
  }
  writer.close();
}

uint64_t parse_with_protobuf(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  google::protobuf::io::FileInputStream stream(fileno(file.get()));
  chakra::GlobalMetadata metadata;
  bool at_end = false;
  google::protobuf::util::ParseDelimitedFromZeroCopyStream(&metadata, &stream, &at_end);
  uint64_t nodes = 0;
  for (chakra::Node node; google::protobuf::util::ParseDelimitedFromZeroCopyStream(&node, &stream, &at_end); ++nodes) {
    node.Clear();
  }
  return nodes;
}

uint64_t read_nodes(const std::string& path) {
  TraceReader reader(path);
  uint64_t nodes = 0;
  for (TraceNode node; reader.next(node);) ++nodes;
  return nodes;
}

/// Until the first node can be taken: all of them in memory, or read through once and checked, to be read again in the
/// run.
uint64_t make_ready(const std::string& path, uint64_t stream_above) {
  Warnings warnings;
  const Workload workload = load_workload({.traces = {path}, .stream_above = stream_above}, warnings);
  const auto source = make_source(workload, RankId(0));
  const RankTrace& trace = workload.ranks.front();
  return source->next() == NodeSource::kNone ? 0 : trace.streamed ? trace.streamed->nodes : trace.nodes.size();
}

uint64_t make_ready_in_memory(const std::string& path) {
  return make_ready(path, UINT64_MAX);
}

uint64_t make_ready_from_file(const std::string& path) {
  return make_ready(path, 0);
}

/// Every node is handed out and completed.
uint64_t feed(const std::string& path) {
  TraceFeeder feeder(path, {});
  for (auto node = feeder.next(); node != TraceFeeder::kNone; node = feeder.next()) feeder.complete(node);
  feeder_bytes = feeder.memory();
  return feeder.nodes_read();
}

/// Of one core: everything here is one thread.
double seconds_of(uint64_t (*read)(const std::string&), const std::string& path) {
  const double begin = cpu_seconds();
  const uint64_t nodes = read(path);
  const double took = cpu_seconds() - begin;
  if (nodes != kNodes) std::printf("trace         only %lu nodes\n", static_cast<unsigned long>(nodes));
  return took;
}

void print_rate(const char* what, const std::vector<double>& seconds, double peer) {
  std::printf("trace         %-44s %8.2f M nodes/s %6.2f of protobuf's parse\n", what, kNodes / median(seconds) / 1e6,
              peer / median(seconds));
}

}  // namespace

void trace_reading(Dpdk&) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "w.0.et";
  write_trace(path);
  std::vector<double> protobuf, nodes, ready, scanned, fed;
  for (int i = 0; i < kRuns; ++i) {
    protobuf.push_back(seconds_of(parse_with_protobuf, path));
    nodes.push_back(seconds_of(read_nodes, path));
    ready.push_back(seconds_of(make_ready_in_memory, path));
    scanned.push_back(seconds_of(make_ready_from_file, path));
    fed.push_back(seconds_of(feed, path));
  }
  std::printf("trace         1 M nodes, %.0f MB, CPU time\n",
              static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  print_rate("protobuf, each frame parsed", protobuf, median(protobuf));
  print_rate("each node read", nodes, median(protobuf));
  print_rate("to the first ready node, all in memory", ready, median(protobuf));
  print_rate("to the first ready node, streamed", scanned, median(protobuf));
  print_rate("feeder, each node handed out", fed, median(protobuf));
  std::printf("trace         feeder: %.1f MiB\n", static_cast<double>(feeder_bytes) / (1 << 20));
}

}  // namespace rankwire::bench
