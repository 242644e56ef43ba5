// Storage nodes of traces as messages to storage ranks.
#include "converters/storage_nodes.h"

#include <google/protobuf/unknown_field_set.h>

#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::IsEmpty;

chakra::Node node_of(uint32_t type, uint64_t id, const std::string& name, std::vector<uint64_t> after) {
  chakra::Node node;
  node.set_type(static_cast<chakra::NodeType>(type));
  node.set_id(id);
  node.set_name(name);
  node.mutable_data_deps()->Add(after.begin(), after.end());
  return node;
}

void set_integer(chakra::Node& node, const char* name, int64_t value) {
  chakra::AttributeProto& attribute = *node.add_attr();
  attribute.set_name(name);
  attribute.set_int64_val(value);
}

/// StorageInfo (field 11) with an FsOp (10) or a BlockOp (12): the operation is field 1, bytes or sectors are field 5.
void set_info(chakra::Node& node, uint32_t layer, uint64_t operation, uint64_t amount) {
  google::protobuf::UnknownFieldSet op, info;
  op.AddVarint(1, operation);
  op.AddVarint(5, amount);
  std::string bytes;
  op.SerializeToString(&bytes);
  info.AddLengthDelimited(static_cast<int>(layer))->assign(bytes);
  info.SerializeToString(&bytes);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(11)->assign(bytes);
}

std::optional<StorageAccess> access_of(chakra::Node node) {
  TraceNode in;
  in.id = node.id();
  in.type = static_cast<uint32_t>(node.type());
  return storage_access(in, node.SerializeAsString());
}

TEST(StorageAccess, OperationsThatMoveBytes) {
  const auto of = [](uint32_t layer, uint64_t operation, uint64_t amount) {
    chakra::Node node = node_of(8, 1, "io", {});
    set_info(node, layer, operation, amount);
    return access_of(node);
  };
  constexpr uint32_t kFs = 10, kPage = 11, kBlock = 12;
  for (const uint64_t read : {3, 5}) EXPECT_EQ(of(kFs, read, 10), (StorageAccess{false, false, Bytes(10)}));
  for (const uint64_t write : {4, 6}) EXPECT_EQ(of(kFs, write, 10), (StorageAccess{false, true, Bytes(10)}));
  for (const uint64_t other : {0, 1, 2, 7, 8, 9}) EXPECT_EQ(of(kFs, other, 10), std::nullopt);
  EXPECT_EQ(of(kBlock, 1, 8), (StorageAccess{true, false, Bytes(4096)}));
  EXPECT_EQ(of(kBlock, 2, 8), (StorageAccess{true, true, Bytes(4096)}));
  EXPECT_EQ(of(kBlock, 3, 0), std::nullopt);
  EXPECT_EQ(of(kPage, 1, 8), std::nullopt);
  EXPECT_EQ(access_of(node_of(8, 1, "io", {})), std::nullopt);
}

class StorageNodes : public ::testing::Test {
 protected:
  /// Two ranks that compute, read 3000 bytes, write a checkpoint of 1000 and reduce over all ranks.
  void write_inputs() {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      inputs_.push_back(trace_file(folder_ / "in", rank));
      TraceWriter writer(inputs_.back());
      chakra::GlobalMetadata metadata;
      metadata.set_version("0.0.4");
      writer.write(metadata);
      chakra::Node work = node_of(chakra::COMP_NODE, 1, "work", {});
      work.set_duration_micros(5);
      chakra::Node read = node_of(8, 2, "read", {1});
      set_info(read, 10, 3, 3000);
      chakra::Node below = node_of(8, 3, "bio", {2});
      set_info(below, 12, 1, 6);
      chakra::Node checkpoint = node_of(10, 4, "save", {2});
      set_integer(checkpoint, "tensor_size", 1000);
      chakra::Node reduce = node_of(chakra::COMM_COLL_NODE, 5, "reduce", {4});
      set_integer(reduce, "comm_type", chakra::ALL_REDUCE);
      set_integer(reduce, "comm_size", 64);
      for (const chakra::Node& node : {work, read, below, checkpoint, reduce}) writer.write(node);
      writer.close();
    }
  }
  Conversion convert() {
    ConversionProgress progress;
    return put_storage_on_wire(inputs_, {}, {.ranks = 2, .stripe = Bytes(1024)}, folder_ / "out", progress);
  }

  TemporaryFolder folder_;
  std::vector<std::string> inputs_;
};

// Of the first file of rank 0, stripes 0 and 2 (952 bytes) are on storage rank 0, stripe 1 on the other.
TEST_F(StorageNodes, BecomeMessages) {
  write_inputs();
  const Conversion made = convert();
  EXPECT_EQ(made.ranks, 4u);
  expect_valid({made.ranks, made.counts.nodes}, made.prefix);
  const auto nodes = read_written(trace_file(made.prefix, 0));
  const WrittenNode& data = node_named(nodes, "read.storage0.recv");
  EXPECT_EQ(data.size, 1024 + 952);
  EXPECT_EQ(data.source, 2);
  EXPECT_THAT(data.after, ElementsAre(1));
  EXPECT_EQ(node_named(nodes, "read.storage1.recv").size, 1024);
  // What followed the node follows the answers.
  EXPECT_THAT(node_named(nodes, "read").after, ElementsAre(7, 9));
  EXPECT_EQ(node_named(nodes, "read").micros, 0u);
  // The second file begins at the other storage rank, and is written.
  EXPECT_EQ(node_named(nodes, "save.storage1.send").size, 1000);
  // What the block layer sees of the same stays.
  EXPECT_EQ(node_named(nodes, "bio").type, 8u);
  const auto storage = read_written(trace_file(made.prefix, 2));
  EXPECT_EQ(node_named(storage, "read.rank0.send").size, 1024 + 952);
  EXPECT_TRUE(depends(storage, node_named(storage, "read.rank0.send"), node_named(storage, "read.rank0.asked")));
}

// Of traces without data dependencies nobody looks at those of others: all of the set have control dependencies then.
TEST_F(StorageNodes, OfControlDependenciesAloneStayWithThem) {
  const std::string path = trace_file(folder_ / "in", 0);
  inputs_ = {path};
  TraceWriter writer(path);
  chakra::GlobalMetadata metadata;
  metadata.set_version("1.0.0");
  writer.write(metadata);
  chakra::Node work = node_of(chakra::COMP_NODE, 1, "work", {}), save = node_of(10, 2, "save", {}),
               next = node_of(chakra::COMP_NODE, 3, "next", {});
  set_integer(save, "tensor_size", 1000);
  save.add_ctrl_deps(1), next.add_ctrl_deps(2);
  for (const chakra::Node& node : {work, save, next}) writer.write(node);
  writer.close();
  const Conversion made = convert();
  for (uint32_t rank = 0; rank < made.ranks; ++rank) {
    TraceReader reader(trace_file(made.prefix, rank));
    size_t control = 0;
    for (TraceNode node; reader.next(node); control += node.control_deps.size()) EXPECT_THAT(node.data_deps, IsEmpty());
    // The message and its answer follow the work, the node the answer, and the next one the node.
    if (rank == 0) {
      EXPECT_EQ(control, 4u);
    }
  }
}

// 2^50 B are the most of any operation: 2^41 sectors.
TEST_F(StorageNodes, AbsurdSizesAreRefused) {
  const auto write = [&](const chakra::Node& node) {
    inputs_ = {trace_file(folder_ / "in", 0)};
    TraceWriter writer(inputs_.back());
    chakra::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    writer.write(metadata);
    writer.write(node);
    writer.close();
  };
  chakra::Node file = node_of(8, 7, "read", {}), block = file, checkpoint = node_of(10, 7, "save", {});
  set_info(file, 10, 3, (uint64_t{1} << 50) + 1);
  set_info(block, 12, 1, (uint64_t{1} << 41) + 1);
  set_integer(checkpoint, "tensor_size", -5);
  for (const auto& [node, text] : {std::pair(file, "1125899906842625 B, which must be"),
                                   std::pair(block, "2199023255553 sectors of 512 B, which must be"),
                                   std::pair(checkpoint, "tensor_size is -5, must be")}) {
    write(node);
    expect_refused(std::string("in.0.et: node 7: ") + (node.type() == 10 ? "" : "reads or writes ") + text,
                   [&] { convert(); });
  }
}

TEST_F(StorageNodes, ThereMustBeSome) {
  inputs_.push_back(trace_file(folder_ / "none", 0));
  NodeWriter writer(inputs_.back());
  writer.compute("work", 1, 0, Bytes(0), {});
  writer.close();
  expect_refused("no node of the traces reads or writes storage", [&] { convert(); });
}

}  // namespace
}  // namespace rankwire
