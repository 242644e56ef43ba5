#include "converters/chakra_copy.h"

#include <gmock/gmock.h>

#include "proto/trace_stream.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_written;
using ::testing::SizeIs;
using testing::WrittenNode;

TEST(ChakraCopy, JsonBecomesTheSameNodes) {
  testing::TemporaryFolder folder;
  const std::string json = testing::write_text(folder / "t.json", R"({"version": "0.0.4"}
    {"name": "a", "type": "COMP_NODE", "durationMicros": "7", "attr": [{"name": "is_cpu_op", "int32Val": 1}]}
    {"id": "3", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "ctrlDeps": ["0"], "attr": [
      {"name": "comm_type", "int64Val": "2"}, {"name": "comm_size", "uint64Val": "4096"},
      {"name": "pg_name", "stringVal": "tp_0"}, {"name": "involved_dim", "boolList": {"values": [true]}}]})");
  ConversionProgress progress;
  const Conversion made = upgrade_traces({json}, folder / "new", progress);
  EXPECT_THAT(made.warnings, IsEmpty());
  EXPECT_EQ(made.counts.collectives, 1u);
  EXPECT_EQ(made.counts.bytes, 4096u);
  const std::vector<WrittenNode> nodes = read_written(trace_file(made.prefix, 0));
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(nodes[0].micros, 7u);
  EXPECT_TRUE(nodes[0].on_host);
  EXPECT_EQ(nodes[1].id, 3u);
  EXPECT_THAT(nodes[1].after, ElementsAre(0));
  EXPECT_EQ(nodes[1].kind, 2);
  EXPECT_EQ(nodes[1].size, 4096);
  EXPECT_EQ(nodes[1].group, "tp_0");
  EXPECT_EQ(TraceReader(trace_file(made.prefix, 0)).metadata()->version, "1.0.0");
}

/// The attributes of the only node of a trace.
std::vector<chakra::AttributeProto> attributes_of(const std::string& path) {
  TraceReader reader(path);
  TraceNode node;
  EXPECT_TRUE(reader.next(node));
  chakra::Node message;
  EXPECT_TRUE(message.ParseFromString(std::string(reader.frame())));
  return {message.attr().begin(), message.attr().end()};
}

// A list of each type goes through JSON and back, and comes out with the bytes that it had.
TEST(ChakraCopy, ListsComeAlong) {
  testing::TemporaryFolder folder;
  chakra::Node node;
  const auto add = [&](const char* name) {
    node.add_attr()->set_name(name);
    return node.mutable_attr(node.attr_size() - 1);
  };
  chakra::BoolList& dimensions = *add("involved_dim")->mutable_bool_list();
  for (const bool value : {true, false, true}) dimensions.add_values(value);
  add("int64")->mutable_int64_list()->add_values(INT64_MIN);
  add("uint64")->mutable_uint64_list()->add_values(UINT64_MAX);
  add("sint32")->mutable_sint32_list()->add_values(-7);
  add("fixed64")->mutable_fixed64_list()->add_values(1);
  add("float")->mutable_float_list()->add_values(0.5);
  add("double")->mutable_double_list()->add_values(-1e300);
  add("string")->mutable_string_list()->add_values("a \"b\"");
  add("bytes")->mutable_bytes_list()->add_values("\xFF");
  add("empty")->mutable_string_list();
  {
    TraceWriter writer(folder / "t.0.et");
    writer.write(node);
    writer.close();
  }
  ConversionProgress progress;
  const Conversion direct = upgrade_traces({folder / "t.0.et"}, folder / "direct", progress);
  const Conversion json = convert_to_json({folder / "t.0.et"}, folder / "json", progress);
  const Conversion back = upgrade_traces({json.prefix + ".0.json"}, folder / "back", progress);
  for (const Conversion* made : {&direct, &back}) {
    EXPECT_THAT(made->warnings, IsEmpty());
    const auto attributes = attributes_of(trace_file(made->prefix, 0));
    ASSERT_EQ(attributes.size(), static_cast<size_t>(node.attr_size()));
    for (int i = 0; i < node.attr_size(); ++i)
      EXPECT_EQ(attributes[static_cast<size_t>(i)].SerializeAsString(), node.attr(i).SerializeAsString())
          << node.attr(i).name();
  }
}

// Bare lists of Chakra's WrapperNode tell their type by their values; what is of none is left out.
TEST(ChakraCopy, BareListsHaveTheTypeOfTheirValues) {
  testing::TemporaryFolder folder;
  const std::string json = testing::write_text(folder / "t.json", R"({"workload_graph": [{"Id": 1, "Name": "a",
    "NodeType": 4, "truths": [true, false], "numbers": [1, -2], "reals": [1, 0.5], "texts": ["a"], "mixed": [1, "a"]}]})");
  ConversionProgress progress;
  const Conversion made = upgrade_traces({json}, folder / "new", progress);
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("1 lists among the attributes are left out")));
  const auto attributes = attributes_of(trace_file(made.prefix, 0));
  ASSERT_THAT(attributes, SizeIs(4));
  EXPECT_THAT(attributes[0].bool_list().values(), ElementsAre(true, false));
  EXPECT_THAT(attributes[1].int64_list().values(), ElementsAre(1, -2));
  EXPECT_THAT(attributes[2].double_list().values(), ElementsAre(1.0, 0.5));
  EXPECT_THAT(attributes[3].string_list().values(), ElementsAre("a"));
}

}  // namespace
}  // namespace rankwire
