#include "converters/msccl.h"

#include <utility>

#include "converters/msccl_flow.h"
#include "converters/msccl_text.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

chakra::AttributeProto& add_attribute(chakra::GlobalMetadata& metadata, const char* name) {
  chakra::AttributeProto& attribute = *metadata.add_attr();
  attribute.set_name(name);
  return attribute;
}

chakra::GlobalMetadata metadata_of(const MscclAlgorithm& algorithm, uint32_t chunks) {
  chakra::GlobalMetadata metadata;
  add_attribute(metadata, "collective").set_string_val(to_string(algorithm.collective));
  add_attribute(metadata, "chunks").set_int64_val(chunks);
  const bool rooted =
      algorithm.collective == MscclCollective::kBroadcast || algorithm.collective == MscclCollective::kReduce;
  if (rooted) add_attribute(metadata, "root").set_int64_val(algorithm.root);
  add_attribute(metadata, "algorithm").set_string_val(algorithm.name);
  add_attribute(metadata, "protocol").set_string_val(algorithm.protocol);
  return metadata;
}

void write_nodes(const std::vector<FlowNode>& nodes, uint32_t rank, NodeWriter& out) {
  for (const FlowNode& node : nodes) {
    // Ids count from 0 as the nodes do.
    const std::vector<NodeWriter::Id> after(node.after.begin(), node.after.end());
    const std::string name = fmt::format("tb {} step {}", node.block, node.step);
    out.with("chunk", node.chunk).with("count", node.count).with("channel", node.channel);
    if (node.sends) {
      out.send(name, rank, node.peer, node.tag, Bytes(0), after);
    } else {
      out.with_flag("reduce", node.reduces).receive(name, node.peer, rank, node.tag, Bytes(0), after);
    }
  }
}

}  // namespace

Conversion convert_msccl(const std::string& path, const std::filesystem::path& folder, ConversionProgress& progress) {
  const MscclAlgorithm algorithm = parse_msccl(path, read_text_file(path));
  const MscclFlow flow = follow_msccl(path, algorithm);
  TraceFolder traces(folder);
  Conversion conversion{.prefix = traces.prefix(), .form = Conversion::Form::kAlgorithm};
  progress.total = flow.ranks.size();
  for (uint32_t rank = 0; rank < flow.ranks.size(); ++rank) {
    NodeWriter nodes(trace_file(conversion.prefix, rank), metadata_of(algorithm, flow.chunks));
    write_nodes(flow.ranks[rank], rank, nodes);
    conversion.add(nodes);
    ++progress.done;
  }
  if (flow.divided > 0)
    conversion.warnings.push_back(
        fmt::format("{} steps send chunks that are no neighbours in the collective's data: each takes several messages",
                    flow.divided));
  traces.keep();
  return conversion;
}

}  // namespace rankwire
