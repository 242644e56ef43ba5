#include "converters/chakra_copy.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "proto/attribute_copy.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Reads the nodes of one trace as messages of the present schema.
class NodeSequence {
 public:
  NodeSequence(const std::string& path, Conversion& conversion) : path_(path), conversion_(conversion) {}

  void each(const std::function<void(const chakra::Node&)>& take) {
    TraceReader reader(path_);
    chakra::Node out;
    bool empty = true;
    for (TraceNode node; reader.next(node);) {
      empty = false;
      translate(node, out);
      count(node);
      take(out);
    }
    if (empty) fail_input("{}: has no nodes", path_);
    if (lists_ > 0) {
      conversion_.warnings.push_back(fmt::format(
          "{}: {} lists among the attributes are left out: their values' type is not known", path_, lists_));
    }
    ++conversion_.ranks;
  }

 private:
  void translate(const TraceNode& node, chakra::Node& out) {
    out.Clear();
    out.set_id(node.id);
    out.set_name(std::string(node.name));
    out.set_type(static_cast<chakra::NodeType>(node.type));
    out.mutable_ctrl_deps()->Add(node.control_deps.begin(), node.control_deps.end());
    out.mutable_data_deps()->Add(node.data_deps.begin(), node.data_deps.end());
    const auto unit = static_cast<uint64_t>(microseconds(1).ps / node.unit.ps);
    carried_ += node.duration % unit;
    out.set_duration_micros(node.duration / unit + carried_ / unit);
    carried_ %= unit;
    out.set_start_time_micros(node.start / unit);
    if (has_any(node.inputs)) copy(node.inputs, *out.mutable_inputs());
    if (has_any(node.outputs)) copy(node.outputs, *out.mutable_outputs());
    for (const TraceAttribute& attribute : node.attributes) copy(attribute, out);
  }

  static bool has_any(const TraceTensors& tensors) {
    return !tensors.values.empty() || !tensors.shapes.empty() || !tensors.types.empty();
  }
  static void copy(const TraceTensors& tensors, chakra::IOInfo& out) {
    out.set_values(std::string(tensors.values));
    out.set_shapes(std::string(tensors.shapes));
    out.set_types(std::string(tensors.types));
  }
  void copy(const TraceAttribute& attribute, chakra::Node& out) {
    chakra::AttributeProto& copied = *out.add_attr();
    if (!copy_attribute(attribute, copied)) {
      out.mutable_attr()->RemoveLast();
      ++lists_;
    } else if (attribute.name == "is_cpu_op" && attribute.form != TraceAttribute::Form::kNone) {
      copied.set_bool_val(attribute.bits != 0);
    }
  }

  void count(const TraceNode& node) {
    NodeCounts& counts = conversion_.counts;
    ++counts.nodes;
    const bool collective = node.type == chakra::COMM_COLL_NODE, sends = node.type == chakra::COMM_SEND_NODE;
    counts.collectives += collective ? 1 : 0;
    counts.sends += sends ? 1 : 0;
    counts.receives += node.type == chakra::COMM_RECV_NODE ? 1 : 0;
    if (!collective && !sends) return;
    counts.bytes += static_cast<uint64_t>(std::max<int64_t>(integer_attribute(node, "comm_size").value_or(0), 0));
  }

  const std::string& path_;
  Conversion& conversion_;
  uint64_t carried_ = 0;  ///< in the file's unit
  uint64_t lists_ = 0;
};

OrderedJson to_json(const chakra::AttributeProto& attribute) {
  OrderedJson json = {{"name", attribute.name()}};
  switch (attribute.value_case()) {
    case chakra::AttributeProto::kInt64Val:
      json["int64Val"] = std::to_string(attribute.int64_val());
      break;
    case chakra::AttributeProto::kUint64Val:
      json["uint64Val"] = std::to_string(attribute.uint64_val());
      break;
    case chakra::AttributeProto::kDoubleVal:
      json["doubleVal"] = attribute.double_val();
      break;
    case chakra::AttributeProto::kBoolVal:
      json["boolVal"] = attribute.bool_val();
      break;
    case chakra::AttributeProto::kStringVal:
      json["stringVal"] = attribute.string_val();
      break;
    case chakra::AttributeProto::VALUE_NOT_SET:
      break;
    default:
      return OrderedJson::parse(attribute_json(attribute));
  }
  return json;
}

template <class Ids>
void set_ids(OrderedJson& json, const char* key, const Ids& ids) {
  for (const uint64_t id : ids) json[key].push_back(std::to_string(id));
}

void set_tensors(OrderedJson& json, const char* key, const chakra::IOInfo& tensors) {
  json[key] = {{"values", tensors.values()}, {"shapes", tensors.shapes()}, {"types", tensors.types()}};
}

/// 64-bit integers are texts; what is 0 or empty is left out.
OrderedJson to_json(const chakra::Node& node) {
  OrderedJson json = {{"id", std::to_string(node.id())}, {"name", node.name()}};
  if (chakra::NodeType_IsValid(node.type())) {
    json["type"] = chakra::NodeType_Name(node.type());
  } else {
    json["type"] = static_cast<int>(node.type());
  }
  set_ids(json, "ctrlDeps", node.ctrl_deps());
  set_ids(json, "dataDeps", node.data_deps());
  if (node.start_time_micros() > 0) json["startTimeMicros"] = std::to_string(node.start_time_micros());
  if (node.duration_micros() > 0) json["durationMicros"] = std::to_string(node.duration_micros());
  if (node.has_inputs()) set_tensors(json, "inputs", node.inputs());
  if (node.has_outputs()) set_tensors(json, "outputs", node.outputs());
  for (const chakra::AttributeProto& attribute : node.attr()) json["attr"].push_back(to_json(attribute));
  return json;
}

}  // namespace

Conversion upgrade_traces(const std::vector<std::string>& traces, const std::filesystem::path& folder,
                          ConversionProgress& progress) {
  TraceFolder made(folder);
  Conversion conversion{.prefix = made.prefix()};
  progress.total = traces.size();
  for (uint32_t rank = 0; rank < traces.size(); ++rank) {
    TraceWriter writer(trace_file(conversion.prefix, rank));
    chakra::GlobalMetadata metadata;
    metadata.set_version("1.0.0");
    writer.write(metadata);
    NodeSequence(traces[rank], conversion).each([&](const chakra::Node& node) { writer.write(node); });
    writer.close();
    ++progress.done;
  }
  made.keep();
  return conversion;
}

Conversion convert_to_json(const std::vector<std::string>& traces, const std::filesystem::path& folder,
                           ConversionProgress& progress) {
  TraceFolder made(folder);
  Conversion conversion{.prefix = made.prefix()};
  progress.total = traces.size();
  for (uint32_t rank = 0; rank < traces.size(); ++rank) {
    const std::string path = fmt::format("{}.{}.json", conversion.prefix, rank);
    std::ofstream file(path);
    file << "{\"version\": \"1.0.0\"}\n";
    NodeSequence(traces[rank], conversion).each([&](const chakra::Node& node) {
      file << to_json(node).dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
    });
    if (!file.flush()) fail_run("{}: cannot write the trace", path);
    ++progress.done;
  }
  made.keep();
  return conversion;
}

}  // namespace rankwire
