#include "converters/storage_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "base/error.h"
#include "converters/model_sizes.h"
#include "converters/node_writer.h"
#include "converters/storage.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"
#include "proto/wire.h"

namespace rankwire {
namespace {

constexpr uint32_t kStorageNode = 8, kBatchNode = 9, kCheckpointNode = 10;
constexpr uint32_t kSector = 512;  ///< bytes, of the block layer whatever the device

/// Of an FsOp or a BlockOp: its operation, and field 5, bytes or sectors.
struct StorageOperation {
  uint64_t operation = 0, amount = 0;
};

StorageOperation read_operation(std::string_view message) {
  StorageOperation read;
  WireFields fields(message);
  while (fields.next()) {
    if (fields.type() != WireType::kVarint) continue;
    if (fields.number() == 1) read.operation = fields.value();
    if (fields.number() == 5) read.amount = fields.value();
  }
  return read;
}

constexpr uint64_t kMostAccess = kMostOperationBytes;

/// Of StorageInfo of a node.
std::optional<StorageAccess> access_of_info(uint64_t node, std::string_view message) {
  constexpr uint32_t kFs = 10, kBlock = 12;
  WireFields fields(message);
  while (fields.next()) {
    if (fields.type() != WireType::kBytes || (fields.number() != kFs && fields.number() != kBlock)) continue;
    const bool block = fields.number() == kBlock;
    const StorageOperation op = read_operation(fields.bytes());
    // FS_OP_READ 3, WRITE 4, PREAD 5, PWRITE 6; BLOCK_OP_READ 1, WRITE 2.
    const bool moves = block ? op.operation == 1 || op.operation == 2 : op.operation >= 3 && op.operation <= 6;
    if (!moves || op.amount == 0) return std::nullopt;
    if (op.amount > (block ? kMostAccess / kSector : kMostAccess))
      fail_input("node {}: reads or writes {} {}, which must be 0 to {} B", node, op.amount,
                 block ? "sectors of 512 B" : "B", kMostAccess);
    const auto amount = static_cast<int64_t>(op.amount);
    return StorageAccess{
        .block = block, .write = op.operation % 2 == 0, .size = Bytes(block ? amount * int64_t{kSector} : amount)};
  }
  return std::nullopt;
}

/// What a first look at a trace shows.
struct TraceLook {
  uint64_t highest = 0;  ///< id
  bool data_deps = false, file_system = false;
  std::set<std::string> unnamed;  ///< which of the groups of all ranks it calls
};

class StorageTraces {
 public:
  StorageTraces(const std::vector<std::string>& traces, std::vector<ProcessGroup> groups, const StorageModel& model,
                const std::filesystem::path& folder)
      : traces_(traces),
        groups_(std::move(groups)),
        traffic_{.model = model,
                 .trainers = static_cast<uint32_t>(traces.size()),
                 .steps = 1,
                 .samples = {},
                 .written = {},
                 .restored = {}},
        folder_(folder) {
    made_.prefix = folder_.prefix();
  }

  Conversion convert(ConversionProgress& progress) {
    progress.total = traces_.size();
    for (const std::string& trace : traces_) data_deps_ |= looks_.emplace_back(look_at(trace)).data_deps;
    for (uint32_t storage = 0; storage < traffic_.model.ranks; ++storage) {
      servers_.push_back(std::make_unique<StorageServer>(traffic_.model, traffic_.trainers, storage,
                                                         file_of(traffic_.trainers + storage)));
      if (!data_deps_) servers_.back()->take_control_dependencies();
    }
    for (uint32_t rank = 0; rank < traffic_.trainers; ++rank, ++progress.done) copy_rank(rank);
    if (accesses_ == 0)
      fail_input("{}: no node of the traces reads or writes storage (types {} to {}, with bytes)", traces_.front(),
                 kStorageNode, kCheckpointNode);
    for (const auto& server : servers_) {
      made_.counts += server->close();
      ++made_.ranks;
    }
    name_all_ranks();
    made_.write_groups(groups_);
    folder_.keep();
    return made_;
  }

 private:
  static std::optional<StorageAccess> access_of(const std::string& path, const TraceNode& node,
                                                std::string_view frame) {
    try {
      return storage_access(node, frame);
    } catch (const Error& error) {
      fail_input("{}: {}", path, error.what());
    }
  }

  std::string file_of(uint32_t rank) const { return trace_file(made_.prefix, rank); }

  void copy_rank(uint32_t rank) {
    const TraceLook& look = looks_[rank];
    unnamed_.insert(look.unnamed.begin(), look.unnamed.end());
    next_id_ = look.highest + 1;
    TraceReader reader(traces_[rank]);
    TraceWriter writer(file_of(rank));
    chakra::GlobalMetadata metadata;
    metadata.set_version("1.0.0");
    writer.write(metadata);
    uint32_t number = 0;
    chakra::Node node;
    for (TraceNode in; reader.next(in);) {
      if (!node.ParseFromArray(reader.frame().data(), static_cast<int>(reader.frame().size())))
        fail_input("{}: node {} cannot be read", traces_[rank], in.id);
      const std::optional<StorageAccess> access = access_of(traces_[rank], in, reader.frame());
      if (access && !(access->block && look.file_system)) exchange(node, *access, rank, number++, writer);
      count(node);
      writer.write(node);
    }
    writer.close();
    ++made_.ranks;
  }

  TraceLook look_at(const std::string& path) const {
    TraceLook look;
    TraceReader reader(path);
    for (TraceNode node; reader.next(node);) {
      if (reader.frame().empty())
        fail_input("{}: is no trace of framed messages of schema 0.0.4 or 1.0.0; rankwire convert chakra makes one",
                   path);
      look.highest = std::max(look.highest, node.id);
      look.data_deps |= !node.data_deps.empty();
      const std::optional<StorageAccess> access = access_of(path, node, reader.frame());
      look.file_system |= access && !access->block;
      if (node.type != chakra::COMM_COLL_NODE) continue;
      const std::string group = string_attribute(node, "pg_name").value_or("");
      if (group.empty() || group == "0") look.unnamed.insert(group);
    }
    return look;
  }

  /// Writes what the access says to each storage rank, and leaves `node` to follow the answers.
  void exchange(chakra::Node& node, const StorageAccess& access, uint32_t rank, uint32_t number, TraceWriter& writer) {
    ++accesses_;
    const StateFile file{.writer = rank, .number = number, .size = access.size};
    std::vector<uint64_t> answers;
    for (uint32_t storage = 0; storage < traffic_.model.ranks; ++storage) {
      const Bytes size = traffic_.part(file, 0, storage);
      if (size.count == 0) continue;
      const StorageExchange messages(!access.write, size);
      message(node, chakra::COMM_SEND_NODE, rank, storage, messages.asked, writer);
      answers.push_back(message(node, chakra::COMM_RECV_NODE, rank, storage, messages.answered, writer));
      servers_[storage]->serve(node.name(), !access.write, rank, size);
    }
    node.set_type(chakra::COMP_NODE);
    node.set_duration_micros(0);
    node.clear_attr();
    chakra::AttributeProto& host = *node.add_attr();
    host.set_name("is_cpu_op");
    host.set_bool_val(true);
    auto& dependencies = data_deps_ ? *node.mutable_data_deps() : *node.mutable_ctrl_deps();
    dependencies.Clear();
    dependencies.Add(answers.begin(), answers.end());
  }

  uint64_t message(const chakra::Node& node, chakra::NodeType type, uint32_t rank, uint32_t storage,
                   const StorageMessage& what, TraceWriter& writer) {
    chakra::Node out;
    const bool sends = type == chakra::COMM_SEND_NODE;
    out.set_id(next_id_++);
    out.set_name(fmt::format("{}.storage{}.{}", node.name(), storage, sends ? "send" : "recv"));
    out.set_type(type);
    *out.mutable_data_deps() = node.data_deps();
    *out.mutable_ctrl_deps() = node.ctrl_deps();
    const auto add = [&](const char* name, int64_t value) {
      chakra::AttributeProto& attribute = *out.add_attr();
      attribute.set_name(name);
      attribute.set_int64_val(value);
    };
    const uint32_t server = traffic_.trainers + storage;
    add("comm_src", sends ? rank : server);
    add("comm_dst", sends ? server : rank);
    add("comm_tag", what.tag);
    add("comm_size", what.size.count);
    writer.write(out);
    count(out);
    return out.id();
  }

  void count(const chakra::Node& node) {
    NodeCounts& counts = made_.counts;
    ++counts.nodes;
    counts.collectives += node.type() == chakra::COMM_COLL_NODE ? 1 : 0;
    counts.sends += node.type() == chakra::COMM_SEND_NODE ? 1 : 0;
    counts.receives += node.type() == chakra::COMM_RECV_NODE ? 1 : 0;
    if (node.type() != chakra::COMM_SEND_NODE && node.type() != chakra::COMM_COLL_NODE) return;
    const auto size = std::ranges::find(node.attr(), "comm_size", [](const auto& a) { return a.name(); });
    if (size != node.attr().end()) counts.bytes += static_cast<uint64_t>(size->int64_val());
  }

  /// Groups of all ranks, which would have the storage ranks.
  void name_all_ranks() {
    std::vector<int64_t> all(traffic_.trainers);
    std::iota(all.begin(), all.end(), 0);
    for (ProcessGroup& group : groups_)
      if (group.ranks.empty()) group.ranks = all;
    for (const std::string& name : unnamed_) {
      if (std::ranges::find(groups_, name, &ProcessGroup::name) == groups_.end()) groups_.push_back({name, all});
    }
  }

  const std::vector<std::string>& traces_;
  std::vector<ProcessGroup> groups_;
  const StorageTraffic traffic_;
  TraceFolder folder_;
  Conversion made_;
  std::vector<TraceLook> looks_;  // by training rank
  bool data_deps_ = false;        // some trace of the set has any: control dependencies count for nothing then
  std::vector<std::unique_ptr<StorageServer>> servers_;
  std::set<std::string> unnamed_;
  uint64_t next_id_ = 0, accesses_ = 0;
};

}  // namespace

std::optional<StorageAccess> storage_access(const TraceNode& node, std::string_view frame) {
  if (node.type < kStorageNode || node.type > kCheckpointNode) return std::nullopt;
  constexpr uint32_t kStorageInfo = 11;
  WireFields fields(frame);
  while (fields.next()) {
    if (fields.number() == kStorageInfo && fields.type() == WireType::kBytes)
      return access_of_info(node.id, fields.bytes());
  }
  if (!fields.whole()) fail_input("node {} is broken", node.id);
  const int64_t size = integer_attribute(node, "tensor_size").value_or(0);
  if (node.type == kStorageNode || size == 0) return std::nullopt;
  if (size < 0 || static_cast<uint64_t>(size) > kMostAccess)
    fail_input("node {}: tensor_size is {}, must be 0 to {} B", node.id, size, kMostAccess);
  return StorageAccess{.block = false, .write = node.type == kCheckpointNode, .size = Bytes(size)};
}

Conversion put_storage_on_wire(const std::vector<std::string>& traces, std::vector<ProcessGroup> groups,
                               const StorageModel& model, const std::filesystem::path& folder,
                               ConversionProgress& progress) {
  return StorageTraces(traces, std::move(groups), model, folder).convert(progress);
}

}  // namespace rankwire
