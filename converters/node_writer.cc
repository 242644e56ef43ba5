#include "converters/node_writer.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/stop.h"

namespace rankwire {

NodeWriter::NodeWriter(const NodeFile& file, chakra::GlobalMetadata metadata) : limit_(file.limit) {
  if (file.path.empty()) return;
  file_.emplace(file.path);
  metadata.set_version("1.0.0");
  file_->write(metadata);
}

uint64_t NodeWriter::close() {
  if (file_) file_->close();
  return counts_.nodes;
}

NodeWriter& NodeWriter::with(const char* attribute, int64_t value) {
  chakra::AttributeProto& further = *next_node_.add_attr();
  further.set_name(attribute);
  further.set_int64_val(value);
  return *this;
}

NodeWriter& NodeWriter::with(const char* attribute, const std::string& text) {
  chakra::AttributeProto& further = *next_node_.add_attr();
  further.set_name(attribute);
  further.set_string_val(text);
  return *this;
}

NodeWriter& NodeWriter::with_flag(const char* attribute, bool value) {
  chakra::AttributeProto& further = *next_node_.add_attr();
  further.set_name(attribute);
  further.set_bool_val(value);
  return *this;
}

NodeWriter& NodeWriter::with_splits(std::span<const Bytes> parts) {
  if (parts.empty()) return *this;
  std::string list;
  for (const Bytes part : parts) list += fmt::format("{}{}", list.empty() ? "" : ", ", part.count);
  return with("comm_splits", fmt::format("[{}]", list));
}

NodeWriter& NodeWriter::lasting(uint64_t micros) {
  next_node_.set_duration_micros(micros);
  return *this;
}

NodeWriter& NodeWriter::starting(uint64_t micros) {
  next_node_.set_start_time_micros(micros);
  return *this;
}

NodeWriter& NodeWriter::on_host() {
  on_host_ = true;
  return *this;
}

NodeWriter::Id NodeWriter::groups(std::string_view values) {
  begin("## process_group:init ##", chakra::METADATA_NODE, {}).mutable_inputs()->set_values(std::string(values));
  return end();
}

NodeWriter::Id NodeWriter::compute(std::string_view name, uint64_t duration_micros, int64_t flops, Bytes memory,
                                   Dependencies dependencies) {
  begin(name, chakra::COMP_NODE, dependencies).set_duration_micros(duration_micros);
  if (flops != 0 || memory.count != 0) {
    attribute("num_ops").set_int64_val(flops);
    attribute("tensor_size").set_uint64_val(static_cast<uint64_t>(memory.count));
  }
  return end();
}

NodeWriter::Id NodeWriter::load(std::string_view name, uint64_t duration_micros, Bytes size,
                                Dependencies dependencies) {
  begin(name, chakra::MEM_LOAD_NODE, dependencies).set_duration_micros(duration_micros);
  attribute("tensor_size").set_uint64_val(static_cast<uint64_t>(size.count));
  return end();
}

NodeWriter::Id NodeWriter::collective(std::string_view name, chakra::CollectiveCommType kind, const std::string& group,
                                      Bytes size, Dependencies dependencies) {
  begin(name, chakra::COMM_COLL_NODE, dependencies);
  attribute("comm_type").set_int64_val(kind);
  set_size(size);
  attribute("pg_name").set_string_val(group);
  ++counts_.collectives;
  counts_.bytes += static_cast<uint64_t>(size.count);
  return end();
}

NodeWriter::Id NodeWriter::send(std::string_view name, uint32_t source, uint32_t destination, uint32_t tag, Bytes size,
                                Dependencies dependencies) {
  ++counts_.sends;
  counts_.bytes += static_cast<uint64_t>(size.count);
  return transfer(name, chakra::COMM_SEND_NODE, source, destination, tag, size, dependencies);
}

NodeWriter::Id NodeWriter::receive(std::string_view name, uint32_t source, uint32_t destination, uint32_t tag,
                                   Bytes size, Dependencies dependencies) {
  ++counts_.receives;
  return transfer(name, chakra::COMM_RECV_NODE, source, destination, tag, size, dependencies);
}

NodeWriter::Id NodeWriter::transfer(std::string_view name, chakra::NodeType type, uint32_t source, uint32_t destination,
                                    uint32_t tag, Bytes size, Dependencies dependencies) {
  begin(name, type, dependencies);
  attribute("comm_src").set_int32_val(static_cast<int32_t>(source));
  attribute("comm_dst").set_int32_val(static_cast<int32_t>(destination));
  attribute("comm_tag").set_int32_val(static_cast<int32_t>(tag));
  set_size(size);
  return end();
}

chakra::Node& NodeWriter::begin(std::string_view name, chakra::NodeType type, Dependencies dependencies) {
  check_stop();
  if (limit_ != nullptr) limit_->count();
  node_.Clear();
  node_.set_id(next_);
  node_.set_name(std::string(name));
  node_.set_type(type);
  auto& field = controls_ ? *node_.mutable_ctrl_deps() : *node_.mutable_data_deps();
  field.Add(dependencies.begin(), dependencies.end());
  if (next_node_.duration_micros() > 0) node_.set_duration_micros(next_node_.duration_micros());
  if (next_node_.start_time_micros() > 0) node_.set_start_time_micros(next_node_.start_time_micros());
  attribute("is_cpu_op").set_bool_val(std::exchange(on_host_, false));
  return node_;
}

chakra::AttributeProto& NodeWriter::attribute(const char* name) {
  chakra::AttributeProto& attribute = *node_.add_attr();
  attribute.set_name(name);
  return attribute;
}

void NodeWriter::set_size(Bytes size) {
  if (size.count > kMostOperationBytes)
    fail_input("{}: {} B, more than the {} that an operation can have", node_.name(), size.count, kMostOperationBytes);
  attribute("comm_size").set_int64_val(size.count);
}

NodeWriter::Id NodeWriter::end() {
  for (const chakra::AttributeProto& further : next_node_.attr()) *node_.add_attr() = further;
  next_node_.Clear();
  if (file_) file_->write(node_);
  ++counts_.nodes;
  return next_++;
}

}  // namespace rankwire
