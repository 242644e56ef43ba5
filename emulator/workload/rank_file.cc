#include "emulator/workload/rank_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "emulator/workload/node_reader.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

/// How many nodes are a measure of those that follow.
constexpr size_t kSample = 1024;

/// Makes room for as many nodes as a file of this size has, when they all are as those so far. (Moving them to where
/// there is more room is a third of the time otherwise.) Of a packed file, which has more, the room is enough for a
/// part.
void reserve(RankFile& file, uint64_t offset, uint64_t most) {
  std::error_code ignored;
  const uint64_t size = std::filesystem::file_size(file.path, ignored);
  if (ignored || size < offset) return;
  const auto expected = static_cast<double>(size) / static_cast<double>(offset) * static_cast<double>(kSample) * 1.05;
  const auto nodes = static_cast<size_t>(std::min(expected, static_cast<double>(most)));
  file.nodes.reserve(nodes);
  file.data.reserve(nodes);
  file.control.reserve(nodes);
}

}  // namespace

void FileBuilder::note(const TraceNode& in, const Node& node, uint32_t place) {
  if (node.kind == NodeKind::kNone && is_communication(in.type)) tolerated_.cpu_duplicates.add(file_.path, node);
  if (!chakra::NodeType_IsValid(static_cast<int>(in.type)) && !is_storage(in.type))
    tolerated_.unknown_types.add(file_.path, node);
  if (in.type == chakra::METADATA_NODE && in.inputs.values.find("pg_name") != std::string_view::npos) add_groups(in);
  read_request_marks(in, reader_.self(), place, file_.marks);
}

void FileBuilder::complete_last(const TraceNode& in) {
  Node& node = file_.nodes.back();
  node.name = names_.keep(in.name);
  const size_t place = file_.nodes.size() - 1;
  file_.ids_count_up &= node.id >= place && node.id - place == file_.nodes.front().id;
  if (!is_communication(node.kind)) return;
  file_.communicating.push_back(static_cast<uint32_t>(place));
  if (node.kind != NodeKind::kCollective) return;
  file_.calls.push_back({.node = static_cast<uint32_t>(place),
                         .group = name_index(group_name(in)),
                         .root = integer_attribute(in, "root").value_or(-1)});
  if (std::vector<Bytes> splits = reader_.splits(in); !splits.empty())
    file_.splits.emplace(static_cast<uint32_t>(place), std::move(splits));
}

void FileBuilder::add_groups(const TraceNode& in) {
  try {
    for (GroupDefinition& group : parse_process_groups(std::string(in.inputs.values)))
      file_.groups.push_back(std::move(group));
  } catch (const Error& error) {
    fail_input("node {} \"{}\": {}", in.id, in.name, error.what());
  }
}

uint32_t FileBuilder::name_index(const std::string& name) {
  const auto [at, added] = index_.try_emplace(name, static_cast<uint32_t>(file_.group_names.size()));
  if (added) file_.group_names.push_back(name);
  return at->second;
}

RankFile read_rank_file(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options,
                        ReadLimits limits, NameKeeper& names, Tolerated& tolerated) {
  RankFile file;
  file.path = path;
  file.nodes.reserve(std::min<uint64_t>({limits.expected, limits.most, kSample}));
  const NodeReader reader(self, ranks, options);
  FileBuilder builder(file, reader, names, tolerated);
  TraceReader stream(path);
  TraceNode in;
  while (file.nodes.size() <= limits.most && stream.next(in)) {
    if (file.nodes.size() == kSample) reserve(file, stream.offset(), limits.most);
    try {
      if (options.observe) options.observe(self, static_cast<uint32_t>(file.nodes.size()), in);
      builder.add(in);
    } catch (const Error& error) {
      fail_input("{}: {}", path, error.what());
    }
    file.data.add_node(in.data_deps);
    file.control.add_node(in.control_deps);
  }
  if (file.nodes.empty()) fail_input("{}: the trace has no nodes", path);
  return file;
}

}  // namespace rankwire
