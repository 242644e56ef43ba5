#include "emulator/traces/trace_copy.h"

#include <filesystem>

#include "base/error.h"
#include "emulator/traces/tensor_text.h"
#include "proto/attribute_copy.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

chakra::AttributeProto& attribute_of(chakra::Node& node, std::string_view name) {
  for (chakra::AttributeProto& attribute : *node.mutable_attr()) {
    if (attribute.name() == name) return attribute;
  }
  chakra::AttributeProto& added = *node.add_attr();
  added.set_name(std::string(name));
  return added;
}

/// Nanoseconds are rounded up, so that nothing that took time takes none.
uint64_t in_microseconds(uint64_t count, Duration unit) {
  return unit == nanoseconds(1) ? count / 1000 + (count % 1000 != 0) : count;
}

void set_tensors(const TraceTensors& tensors, chakra::IOInfo& info) {
  info.set_values(std::string(tensors.values));
  info.set_shapes(std::string(tensors.shapes));
  info.set_types(std::string(tensors.types));
}

chakra::Node message_of(const TraceNode& in) {
  chakra::Node node;
  node.set_id(in.id);
  node.set_name(std::string(in.name));
  node.set_type(static_cast<chakra::NodeType>(in.type));
  node.mutable_ctrl_deps()->Add(in.control_deps.begin(), in.control_deps.end());
  node.mutable_data_deps()->Add(in.data_deps.begin(), in.data_deps.end());
  node.set_start_time_micros(in_microseconds(in.start, in.unit));
  node.set_duration_micros(in_microseconds(in.duration, in.unit));
  if (!in.inputs.values.empty() || !in.inputs.types.empty()) set_tensors(in.inputs, *node.mutable_inputs());
  if (!in.outputs.values.empty() || !in.outputs.types.empty()) set_tensors(in.outputs, *node.mutable_outputs());
  for (const TraceAttribute& attribute : in.attributes) copy_attribute(attribute, *node.add_attr());
  return node;
}

chakra::GlobalMetadata metadata_of(const TraceReader& reader) {
  chakra::GlobalMetadata metadata;
  metadata.set_version("1.0.0");
  if (!reader.metadata()) return metadata;
  for (const auto& [name, value] : reader.metadata()->attributes) {
    chakra::AttributeProto& attribute = *metadata.add_attr();
    attribute.set_name(name);
    attribute.set_string_val(value);
  }
  return metadata;
}

}  // namespace

void set_integer(chakra::Node& node, std::string_view name, int64_t value) {
  chakra::AttributeProto& attribute = attribute_of(node, name);
  switch (attribute.value_case()) {
    case chakra::AttributeProto::kInt32Val:
      if (value >= INT32_MIN && value <= INT32_MAX) return attribute.set_int32_val(static_cast<int32_t>(value));
      break;
    case chakra::AttributeProto::kUint32Val:
      if (value >= 0 && value <= UINT32_MAX) return attribute.set_uint32_val(static_cast<uint32_t>(value));
      break;
    case chakra::AttributeProto::kUint64Val:
      if (value >= 0) return attribute.set_uint64_val(static_cast<uint64_t>(value));
      break;
    default:
      break;
  }
  attribute.set_int64_val(value);
}

void set_text(chakra::Node& node, std::string_view name, const std::string& value) {
  attribute_of(node, name).set_string_val(value);
}

void copy_trace(const TraceCopy& copy) {
  TraceReader reader(copy.from);
  TraceWriter writer(copy.to);
  chakra::GlobalMetadata metadata = metadata_of(reader);
  if (copy.edit_metadata) copy.edit_metadata(metadata);
  writer.write(metadata);
  TraceNode node;
  for (uint32_t index = 0; index < copy.nodes && reader.next(node); ++index) {
    chakra::Node message;
    const std::string_view frame = reader.frame();
    // The reader is content with some messages that protobuf rejects.
    const bool whole = !frame.empty() && message.ParseFromArray(frame.data(), static_cast<int>(frame.size()));
    if (!whole) message = message_of(node);
    if (copy.edit(index, message)) writer.write(message);
  }
  for (const chakra::Node& added : copy.append) writer.write(added);
  writer.close();
}

std::string name_of_copy(const std::string& path) {
  fs::path name = fs::path(path).filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  return name.replace_extension(".et").string();
}

void scale_tensor_lists(chakra::Node& node, int64_t factor) {
  for (chakra::AttributeProto& attribute : *node.mutable_attr()) {
    const bool tensors = attribute.name() == "inputs" || attribute.name() == "outputs";
    if (!tensors || !attribute.has_string_list()) continue;
    auto& values = *attribute.mutable_string_list()->mutable_values();
    for (int i = 1; i < values.size(); i += 2) {
      if (const auto size = tensor_size(values[i])) values[i] = std::to_string(*size * factor);
    }
  }
}

}  // namespace rankwire
