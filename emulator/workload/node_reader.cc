#include "emulator/workload/node_reader.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/longest_time.h"
#include "proto/attributes.h"

namespace rankwire {
namespace {

template <class... Args>
[[noreturn]] void fail_node(const TraceNode& node, fmt::format_string<Args...> format, Args&&... args) {
  fail_input("node {} \"{}\": {}", node.id, node.name, fmt::format(format, std::forward<Args>(args)...));
}

/// As PyTorch writes them in tensors and in attributes, and by our names.
DataType named_type(std::string_view name) {
  if (name.starts_with("c10::")) name.remove_prefix(5);
  struct Name {
    std::string_view text;
    DataType type;
  };
  constexpr Name kNames[] = {{"double", DataType::kFp64}, {"Double", DataType::kFp64},
                             {"float", DataType::kFp32},  {"Float", DataType::kFp32},
                             {"Half", DataType::kFp16},   {"BFloat16", DataType::kBf16},
                             {"Char", DataType::kInt8},   {"signed char", DataType::kInt8}};
  const auto known = std::ranges::find(kNames, name, &Name::text);
  if (known != std::end(kNames)) return known->type;
  if (name.starts_with("Float8_")) return DataType::kFp8;
  const auto ours = std::ranges::find_if(kDataTypes, [&](DataType type) { return name == to_string(type); });
  return ours != kDataTypes.end() ? *ours : DataType::kUnknown;
}

/// Of a list of types such as "['Tensor(float)', 'Int']".
DataType first_tensor_type(std::string_view types) {
  constexpr std::string_view kTensor = "Tensor(";
  for (size_t at = types.find(kTensor); at != std::string_view::npos; at = types.find(kTensor, at)) {
    at += kTensor.size();
    const DataType type = named_type(types.substr(at, types.find(')', at) - at));
    if (type != DataType::kUnknown) return type;
  }
  return DataType::kUnknown;
}

MemoryPlace memory_place(const TraceNode& in) {
  if (is_storage(in.type)) return MemoryPlace::kStorage;
  const int64_t place = integer_attribute(in, "tensor_loc").value_or(0);
  if (place < 0 || place > static_cast<int64_t>(MemoryPlace::kPool))
    fail_node(in, "tensor_loc {} is no memory: 0 unspecified, 1 local, 2 remote, 3 pool", place);
  return static_cast<MemoryPlace>(place);
}

constexpr const char* kSplits = "comm_splits";

bool has_no_communication(const TraceNode& in) {
  return !integer_attribute(in, "comm_type") && !integer_attribute(in, "comm_size");
}

}  // namespace

bool is_communication(uint32_t type) {
  return type == chakra::COMM_SEND_NODE || type == chakra::COMM_RECV_NODE || type == chakra::COMM_COLL_NODE;
}

NodeKind kind_of(const TraceNode& in) {
  const bool on_cpu = bool_attribute(in, "is_cpu_op").value_or(false);
  switch (in.type) {
    case chakra::MEM_LOAD_NODE:
    case chakra::MEM_STORE_NODE:
      return NodeKind::kMemory;
    case chakra::COMP_NODE:
      return on_cpu ? NodeKind::kHost : NodeKind::kCompute;
    case chakra::COMM_SEND_NODE:
      return on_cpu && has_no_communication(in) ? NodeKind::kNone : NodeKind::kSend;
    case chakra::COMM_RECV_NODE:
      return on_cpu && has_no_communication(in) ? NodeKind::kNone : NodeKind::kReceive;
    case chakra::COMM_COLL_NODE:
      return on_cpu && has_no_communication(in) ? NodeKind::kNone : NodeKind::kCollective;
    default:
      return is_storage(in.type) ? NodeKind::kMemory : NodeKind::kNone;
  }
}

std::string group_name(const TraceNode& in) {
  if (auto name = string_attribute(in, "pg_name")) return *name;
  return string_attribute(in, "comm_group").value_or("");
}

DataType data_type_of(const TraceNode& in) {
  if (const std::optional<std::string> name = string_attribute(in, "dtype")) return named_type(*name);
  const DataType type = first_tensor_type(in.inputs.types);
  return type != DataType::kUnknown ? type : first_tensor_type(in.outputs.types);
}

NodeReader::NodeReader(RankId self, uint32_t ranks, const WorkloadOptions& options)
    : self_(self),
      ranks_(ranks),
      options_(options),
      round_to_(options.round_to.count > 0 ? options.round_to : options.element_size) {}

void NodeReader::read(const TraceNode& in, Node& out) const {
  out = Node();
  out.id = in.id;
  out.name = in.name;
  out.kind = kind_of(in);
  const int64_t longest = kLongestTold.ps / in.unit.ps;
  if (in.duration > static_cast<uint64_t>(longest)) {
    fail_node(in, "a duration of {} {}, the most is {}", in.duration, in.unit == nanoseconds(1) ? "ns" : "us", longest);
  }
  if (in.duration > 0) out.recorded = in.unit * static_cast<int64_t>(in.duration);
  switch (out.kind) {
    case NodeKind::kNone:
      break;
    case NodeKind::kCompute:
    case NodeKind::kHost:
    case NodeKind::kMemory:
      read_work(in, out);
      break;
    case NodeKind::kCollective:
      read_collective(in, out);
      break;
    case NodeKind::kSend:
    case NodeKind::kReceive:
      read_point_to_point(in, out);
      break;
  }
}

void NodeReader::read_work(const TraceNode& in, Node& out) const {
  out.operations = integer_attribute(in, "num_ops").value_or(0);
  if (out.operations < 0) fail_node(in, "num_ops is {}", out.operations);
  // Not scaled with the messages: it decides how long the node computes, which has a factor of its own.
  out.tensor = size(in, "tensor_size", integer_attribute(in, "tensor_size").value_or(0));
  if (out.kind == NodeKind::kMemory) out.bytes = out.tensor;
  if (out.kind == NodeKind::kMemory) out.subject = WorkSubject(memory_place(in));
  if (out.kind == NodeKind::kCompute) out.subject = WorkSubject(data_type_of(in));
  out.timed_by = TimedBy::kDefault;
  if (!out.recorded) return;
  out.duration = scaled_duration(*out.recorded, options_.compute);
  out.timed_by = TimedBy::kRecorded;
}

void NodeReader::read_collective(const TraceNode& in, Node& out) const {
  const int64_t type = integer_attribute(in, "comm_type").value_or(0);
  if (type < 0 || type > static_cast<int64_t>(CollectiveKind::kBarrier)) {
    fail_node(in, "comm_type {} is no collective (0 to 9)", type);
  }
  out.collective = static_cast<CollectiveKind>(type);
  // A barrier moves no data, whatever size is written beside it.
  if (out.collective == CollectiveKind::kBarrier) return;
  out.bytes = required_size(in);
  if (const auto splits = count_list_attribute(in, kSplits)) out.bytes = divided_size(in, out.collective, *splits);
}

std::vector<Bytes> NodeReader::splits(const TraceNode& in) const {
  std::vector<Bytes> sizes;
  for (const int64_t elements : count_list_attribute(in, kSplits).value_or(std::vector<int64_t>()))
    sizes.push_back(scaled_size(size(in, kSplits, elements), options_.bytes, round_to_));
  return sizes;
}

/// The rank's input: that of an all-gather is one of the splits, which one its place in the group tells.
Bytes NodeReader::divided_size(const TraceNode& in, CollectiveKind kind, const std::vector<int64_t>& splits) const {
  if (kind == CollectiveKind::kAllGather) return required_size(in);
  if (kind != CollectiveKind::kAllToAll && kind != CollectiveKind::kReduceScatter &&
      kind != CollectiveKind::kReduceScatterBlock)
    fail_node(in, "{} are of ALL_TO_ALL, ALL_GATHER and REDUCE_SCATTER, but it is {}", kSplits, to_string(kind));
  Bytes sum, scaled;
  for (const int64_t elements : splits) sum += size(in, kSplits, elements);
  const Bytes whole = size(in, "comm_size", *integer_attribute(in, "comm_size"));
  if (sum != whole) fail_node(in, "{} are {} bytes together, comm_size {}", kSplits, sum.count, whole.count);
  for (const Bytes part : this->splits(in)) scaled += part;
  return scaled;
}

void NodeReader::read_point_to_point(const TraceNode& in, Node& out) const {
  const bool sends = out.kind == NodeKind::kSend;
  out.peer = peer(in, sends ? "comm_dst" : "comm_src");
  check_self(in, sends ? "comm_src" : "comm_dst");
  out.tag = integer_attribute(in, "comm_tag").value_or(0);
  out.bytes = required_size(in);
}

RankId NodeReader::peer(const TraceNode& in, const char* attribute) const {
  const std::optional<int64_t> rank = integer_attribute(in, attribute);
  if (!rank) fail_node(in, "has no {}", attribute);
  if (*rank < 0 || *rank >= ranks_) fail_node(in, "{} is {}, but there are {} ranks", attribute, *rank, ranks_);
  if (*rank == self_.value) fail_node(in, "{} is {}, the rank itself", attribute, *rank);
  return RankId(static_cast<uint32_t>(*rank));
}

void NodeReader::check_self(const TraceNode& in, const char* attribute) const {
  const int64_t rank = integer_attribute(in, attribute).value_or(self_.value);
  if (rank != self_.value) fail_node(in, "{} is {}, but this is the trace of rank {}", attribute, rank, self_.value);
}

Bytes NodeReader::required_size(const TraceNode& in) const {
  const std::optional<int64_t> elements = integer_attribute(in, "comm_size");
  if (!elements) fail_node(in, "has no comm_size");
  return scaled_size(size(in, "comm_size", *elements), options_.bytes, round_to_);
}

Bytes NodeReader::size(const TraceNode& in, const char* attribute, int64_t elements) const {
  if (elements < 0 || elements > kMaxOperationBytes / options_.element_size.count) {
    fail_node(in, "{} is {}, sizes are 0 to {} bytes", attribute, elements, kMaxOperationBytes);
  }
  return Bytes(elements * options_.element_size.count);
}

}  // namespace rankwire
