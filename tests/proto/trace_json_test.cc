// Traces in JSON, against what protobuf prints and what Chakra's WrapperNode reads.
#include "proto/trace_json.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"
#include "tests/proto/put.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::put;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;

std::string json_of(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  return text;
}

chakra::Node all_reduce() {
  chakra::Node node;
  node.set_id(uint64_t{1} << 60);
  node.set_name("grads \"é\"");
  node.set_type(chakra::COMM_COLL_NODE);
  node.add_ctrl_deps(4);
  node.add_data_deps(2);
  node.add_data_deps(3);
  node.set_duration_micros(17);
  node.mutable_inputs()->set_values("[[1]]");
  const auto add = [&](const char* name) {
    node.add_attr()->set_name(name);
    return node.mutable_attr(node.attr_size() - 1);
  };
  add("comm_size")->set_int64_val(4096);
  add("comm_tag")->set_int32_val(-3);
  add("most")->set_uint64_val(UINT64_MAX);
  add("share")->set_double_val(0.25);
  add("not_a_number")->set_float_val(std::numeric_limits<float>::quiet_NaN());
  add("is_cpu_op")->set_bool_val(false);
  add("pg_name")->set_string_val("12");
  add("involved_dim")->mutable_bool_list()->add_values(true);
  return node;
}

class Messages : public ::testing::TestWithParam<bool> {};

TEST_P(Messages, AreReadOneBehindTheOther) {
  TemporaryFolder folder;
  chakra::GlobalMetadata metadata;
  metadata.set_version("1.0.0");
  chakra::Node second;
  second.set_name("only a name");
  TraceReader reader(
      put(folder, json_of(metadata, GetParam()) + json_of(all_reduce(), GetParam()) + json_of(second, GetParam())));
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, uint64_t{1} << 60);
  EXPECT_EQ(node.name, "grads \"é\"");
  EXPECT_EQ(node.type, chakra::COMM_COLL_NODE);
  EXPECT_THAT(node.control_deps, ElementsAre(4));
  EXPECT_THAT(node.data_deps, ElementsAre(2, 3));
  EXPECT_EQ(node.duration, 17u);
  EXPECT_EQ(node.inputs.values, "[[1]]");
  EXPECT_EQ(integer_attribute(node, "comm_size"), 4096);
  EXPECT_EQ(integer_attribute(node, "comm_tag"), -3);
  EXPECT_EQ(node.attributes[2].bits, UINT64_MAX);
  EXPECT_EQ(node.attributes[3].real(), 0.25);
  EXPECT_TRUE(std::isnan(node.attributes[4].real()));
  EXPECT_EQ(bool_attribute(node, "is_cpu_op"), false);
  EXPECT_EQ(string_attribute(node, "pg_name"), "12");
  EXPECT_EQ(node.attributes[7].form, TraceAttribute::Form::kList);
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, 0u);
  EXPECT_EQ(node.name, "only a name");
  EXPECT_FALSE(reader.next(node));
  EXPECT_FALSE(reader.next(node)) << "the end stays the end";
}

INSTANTIATE_TEST_SUITE_P(Whitespace, Messages, ::testing::Bool(),
                         [](const auto& instance) { return instance.param ? "Pretty" : "Dense"; });

TEST(TraceJson, ReadsAWorkloadGraph) {
  TemporaryFolder folder;
  TraceReader reader(put(folder, R"( {"workload_graph": [
    {"Id": 7, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5},
    {"Id": 8, "Name": "b", "NodeType": 7, "data_deps": [7], "ctrlDeps": [7], "comm_type": 6, "comm_size": 64,
     "is_cpu_op": false}]})"));
  TraceNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, 7u);
  EXPECT_EQ(node.duration, 5u);
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.type, chakra::COMM_COLL_NODE);
  EXPECT_THAT(node.data_deps, ElementsAre(7));
  EXPECT_EQ(integer_attribute(node, "comm_type"), chakra::ALL_TO_ALL);
  EXPECT_FALSE(reader.next(node));
  EXPECT_FALSE(reader.next(node));
}

TEST(TraceJson, SaysWhatIsWrongAndWhere) {
  struct {
    const char* text;
    const char* message;
  } const cases[] = {
      {R"({"id": "1"}{"id": "x"})", "node 1 of the JSON: id is no unsigned 64-bit integer"},
      {R"({"type": "GPU_NODE"})", "type is \"GPU_NODE\", which is no type of Chakra's nodes"},
      {R"({"dataDeps": 3})", "dataDeps is no list"},
      {R"({"name": 3})", "name is no text"},
      {R"({"attr": [3]})", "attr is no object"},
      {R"({"header": 5})", "node 0 of the JSON: has neither 'id' nor 'name' nor 'type'"},
      {R"({"id": "1"}{"id": )", "the JSON ends within node 1"},
      {R"({"id": 1,,})", "node 0 of the JSON at byte 0"},
      {R"({"schema": "1.0.1", "nodes": []})", "another kind than Chakra's, such as PyTorch's"},
      {R"({"workload_graph": [1]})", "an element of workload_graph is no object"},
  };
  for (const auto& [text, message] : cases) {
    TemporaryFolder folder;
    const std::string path = put(folder, text);
    EXPECT_THAT(
        [&] {
          TraceReader reader(path);
          TraceNode node;
          while (reader.next(node)) {
          }
        },
        ThrowsMessage<Error>(::testing::AllOf(HasSubstr(path), HasSubstr(message))))
        << text;
  }
}

TEST(TraceJson, IsToldFromFrames) {
  EXPECT_TRUE(TraceJson::is_json("{\"id\": 1}"));
  EXPECT_TRUE(TraceJson::is_json("\n  {\n\t\"id\""));
  EXPECT_TRUE(TraceJson::is_json("{}"));
  EXPECT_FALSE(TraceJson::is_json("{\x08\x03"));
  EXPECT_FALSE(TraceJson::is_json(""));
  EXPECT_FALSE(TraceJson::is_json("{"));
}

}  // namespace
}  // namespace rankwire
