// Traces that the feeder's tests write themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace_stream.h"
#include "tests/temporary_folder.h"

namespace rankwire::testing {

/// What a test says of a node; the rest is as protobuf has it.
struct FedNode {
  uint64_t id = 0;
  std::vector<uint64_t> data, control;
  uint64_t start = 0;
  std::string stream, group;  ///< "": without
  bool on_cpu = false;
  chakra::NodeType type = chakra::COMP_NODE;

  chakra::Node message() const {
    chakra::Node node;
    node.set_id(id);
    node.set_name("node " + std::to_string(id));
    node.set_type(type);
    node.set_start_time_micros(start);
    node.mutable_data_deps()->Add(data.begin(), data.end());
    node.mutable_ctrl_deps()->Add(control.begin(), control.end());
    const auto add = [&](const char* name) {
      node.add_attr()->set_name(name);
      return node.mutable_attr(node.attr_size() - 1);
    };
    if (!stream.empty()) add("stream")->set_int64_val(std::stoll(stream));
    if (!group.empty()) add("pg_name")->set_string_val(group);
    if (on_cpu) add("is_cpu_op")->set_bool_val(true);
    return node;
  }
};

/// A file of these nodes that goes away with the object.
class FeedFile {
 public:
  FeedFile() = default;
  explicit FeedFile(const std::vector<FedNode>& nodes) {
    TraceWriter writer(path());
    for (const FedNode& node : nodes) writer.write(node.message());
    writer.close();
  }
  std::string path() const { return folder_ / "w.0.et"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace rankwire::testing
