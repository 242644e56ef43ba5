// Traces that a converter has written, read back.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "proto/attributes.h"
#include "proto/trace_stream.h"
#include "tests/temporary_folder.h"

namespace rankwire::testing {

/// A node with the attributes that converters write; -1 or "" where it has none.
struct WrittenNode {
  uint64_t id = 0;
  std::string name;
  uint32_t type = 0;
  uint64_t micros = 0;
  std::vector<uint64_t> after;
  bool on_host = false;
  int64_t kind = -1, size = -1, source = -1, destination = -1, tag = -1, stream = -1, root = -1;
  std::string group, splits, metadata;
  int64_t flops = -1;
  uint64_t start = 0;
};

inline std::vector<WrittenNode> read_written(const std::filesystem::path& path) {
  std::vector<WrittenNode> nodes;
  TraceReader reader(path.string());
  const auto integer = [](const TraceNode& node, const char* name) {
    return integer_attribute(node, name).value_or(-1);
  };
  for (TraceNode node; reader.next(node);) {
    nodes.push_back({.id = node.id,
                     .name = std::string(node.name),
                     .type = node.type,
                     .micros = node.duration,
                     .after = node.data_deps,
                     .on_host = bool_attribute(node, "is_cpu_op").value_or(false),
                     .kind = integer(node, "comm_type"),
                     .size = integer(node, "comm_size"),
                     .source = integer(node, "comm_src"),
                     .destination = integer(node, "comm_dst"),
                     .tag = integer(node, "comm_tag"),
                     .stream = integer(node, "stream"),
                     .root = integer(node, "root"),
                     .group = string_attribute(node, "pg_name").value_or(""),
                     .splits = string_attribute(node, "comm_splits").value_or(""),
                     .metadata = std::string(node.inputs.values),
                     .flops = integer(node, "num_ops"),
                     .start = node.start});
  }
  return nodes;
}

/// The first node of that name.
inline const WrittenNode& node_named(const std::vector<WrittenNode>& nodes, const std::string& name) {
  for (const WrittenNode& node : nodes) {
    if (node.name == name) return node;
  }
  throw std::runtime_error("no node is named " + name);
}

/// Whether `node` comes after `other` by way of dependencies.
inline bool depends(const std::vector<WrittenNode>& nodes, const WrittenNode& node, const WrittenNode& other) {
  std::vector<bool> seen(nodes.size());
  std::vector<uint64_t> left = {node.id};
  while (!left.empty()) {
    const uint64_t id = left.back();
    left.pop_back();
    if (id == other.id) return true;
    if (seen.at(id)) continue;
    seen[id] = true;
    left.insert(left.end(), nodes[id].after.begin(), nodes[id].after.end());
  }
  return false;
}

inline std::string write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path.string();
}

}  // namespace rankwire::testing
