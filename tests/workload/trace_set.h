// Small sets of traces that tests write themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "emulator/workload/workload.h"
#include "proto/trace_stream.h"
#include "tests/test_data.h"

namespace rankwire::testing {

using Ids = std::initializer_list<uint64_t>;

/// A node under construction: `Make(chakra::COMP_NODE, 3, "gemm").after({1, 2}).micros(5)`.
class Make {
 public:
  Make(chakra::NodeType type, uint64_t id, const std::string& name) {
    node_.set_type(type);
    node_.set_id(id);
    node_.set_name(name);
  }
  Make& after(Ids ids) { return node_.mutable_data_deps()->Add(ids.begin(), ids.end()), *this; }
  Make& after_control(Ids ids) { return node_.mutable_ctrl_deps()->Add(ids.begin(), ids.end()), *this; }
  Make& micros(uint64_t duration) { return node_.set_duration_micros(duration), *this; }
  Make& integer(const std::string& name, int64_t value) { return add(name).set_int64_val(value), *this; }
  Make& text(const std::string& name, const std::string& value) { return add(name).set_string_val(value), *this; }
  Make& on_cpu() { return add("is_cpu_op").set_bool_val(true), *this; }
  Make& size(int64_t value) { return integer("comm_size", value); }
  Make& group(const std::string& name) { return text("pg_name", name); }
  Make& values(const std::string& text) { return node_.mutable_inputs()->set_values(text), *this; }
  Make& types(const std::string& text) { return node_.mutable_inputs()->set_types(text), *this; }
  operator chakra::Node() const { return node_; }  // NOLINT: lists of nodes are written without a last call

 private:
  chakra::AttributeProto& add(const std::string& name) {
    chakra::AttributeProto* attribute = node_.add_attr();
    attribute->set_name(name);
    return *attribute;
  }
  chakra::Node node_;
};

inline Make compute(uint64_t id, const std::string& name) {
  return {chakra::COMP_NODE, id, name};
}
inline Make collective(uint64_t id, const std::string& name, CollectiveKind kind = CollectiveKind::kAllReduce) {
  return Make(chakra::COMM_COLL_NODE, id, name).integer("comm_type", static_cast<int64_t>(kind));
}
inline Make send(uint64_t id, const std::string& name, int64_t destination) {
  return Make(chakra::COMM_SEND_NODE, id, name).integer("comm_dst", destination);
}
inline Make receive(uint64_t id, const std::string& name, int64_t source) {
  return Make(chakra::COMM_RECV_NODE, id, name).integer("comm_src", source);
}

using Nodes = std::vector<chakra::Node>;

/// A folder with w.<rank>.et, one for each list of nodes.
class TraceSet {
 public:
  TraceSet() { options.traces = {(folder_ / "w").string()}; }
  explicit TraceSet(const std::vector<Nodes>& ranks) : TraceSet() {
    for (const Nodes& nodes : ranks) add(nodes);
  }
  std::string file(size_t rank) const { return folder_ / ("w." + std::to_string(rank) + ".et"); }
  void add(const Nodes& nodes) { write(file(ranks_++), nodes); }
  void groups(const std::string& json) {
    options.groups_file = folder_ / "groups.json";
    std::ofstream(options.groups_file) << json;
  }
  Workload load() { return load_workload(options, warnings); }
  /// The text of the error that loading throws, or "" when it does not.
  std::string error() {
    try {
      load();
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  static void write(const std::string& path, const Nodes& nodes) {
    TraceWriter writer(path);
    chakra::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    writer.write(metadata);
    for (const chakra::Node& node : nodes) writer.write(node);
    writer.close();
  }

  WorkloadOptions options;
  Warnings warnings;

 private:
  TemporaryFolder folder_;
  size_t ranks_ = 0;
};

}  // namespace rankwire::testing
