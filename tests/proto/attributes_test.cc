#include "proto/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/error.h"
#include "proto/trace_schema.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Through the wire, so that the field numbers are those of a file.
class NodeWith {
 public:
  explicit NodeWith(const std::function<void(chakra::AttributeProto&)>& set) : bytes_(serialized(set)) {
    EXPECT_TRUE(parse_node(bytes_, TraceSchema::k004, node_));
  }
  operator const TraceNode&() const { return node_; }  // NOLINT: a node for its bytes

 private:
  static std::string serialized(const std::function<void(chakra::AttributeProto&)>& set);

  std::string bytes_;
  TraceNode node_;
};

std::string NodeWith::serialized(const std::function<void(chakra::AttributeProto&)>& set) {
  chakra::Node node;
  node.set_id(12);
  node.set_name("gemm");
  chakra::AttributeProto* attribute = node.add_attr();
  attribute->set_name("x");
  set(*attribute);
  return node.SerializeAsString();
}

struct IntegerWireType {
  const char* name;
  std::function<void(chakra::AttributeProto&)> set;
  int64_t value;
};

const IntegerWireType kWireTypes[] = {
    {"double", [](auto& a) { a.set_double_val(-4096.0); }, -4096},
    {"float", [](auto& a) { a.set_float_val(65536.0F); }, 65536},
    {"int32", [](auto& a) { a.set_int32_val(-7); }, -7},
    {"int64", [](auto& a) { a.set_int64_val(INT64_MIN); }, INT64_MIN},
    {"uint32", [](auto& a) { a.set_uint32_val(UINT32_MAX); }, UINT32_MAX},
    {"uint64", [](auto& a) { a.set_uint64_val(INT64_MAX); }, INT64_MAX},
    {"sint32", [](auto& a) { a.set_sint32_val(-8); }, -8},
    {"sint64", [](auto& a) { a.set_sint64_val(-9); }, -9},
    {"fixed32", [](auto& a) { a.set_fixed32_val(10); }, 10},
    {"fixed64", [](auto& a) { a.set_fixed64_val(11); }, 11},
    {"sfixed32", [](auto& a) { a.set_sfixed32_val(-12); }, -12},
    {"sfixed64", [](auto& a) { a.set_sfixed64_val(-13); }, -13},
    {"bool", [](auto& a) { a.set_bool_val(true); }, 1},
    {"zero", [](auto& a) { a.set_int64_val(0); }, 0},
};

class IntegerAttribute : public ::testing::TestWithParam<IntegerWireType> {};

TEST_P(IntegerAttribute, WidensEveryWireType) {
  const NodeWith node(GetParam().set);
  EXPECT_EQ(integer_attribute(node, "x"), GetParam().value);
  EXPECT_EQ(bool_attribute(node, "x"), GetParam().value != 0);
  EXPECT_EQ(string_attribute(node, "x"), std::to_string(GetParam().value));
}

INSTANTIATE_TEST_SUITE_P(All, IntegerAttribute, ::testing::ValuesIn(kWireTypes),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Attributes, ThatAreAbsentOrWithoutValueAreAbsent) {
  const NodeWith node([](auto&) {});
  EXPECT_EQ(integer_attribute(node, "x"), std::nullopt);
  EXPECT_EQ(string_attribute(node, "x"), std::nullopt);
  EXPECT_EQ(bool_attribute(node, "y"), std::nullopt);
}

TEST(Attributes, ThatAreNoIntegerAreErrors) {
  const std::function<void(chakra::AttributeProto&)> wrong[] = {
      [](auto& a) { a.set_uint64_val(uint64_t{1} << 63); },
      [](auto& a) { a.set_fixed64_val(UINT64_MAX); },
      [](auto& a) { a.set_double_val(0.5); },
      [](auto& a) { a.set_double_val(0x1p63); },
      [](auto& a) { a.set_double_val(std::numeric_limits<double>::quiet_NaN()); },
      [](auto& a) { a.set_float_val(std::numeric_limits<float>::infinity()); },
      [](auto& a) { a.set_string_val("1"); },
      [](auto& a) { a.mutable_int64_list()->add_values(1); },
  };
  for (const auto& set : wrong) {
    const NodeWith node(set);
    EXPECT_THAT([&] { integer_attribute(node, "x"); },
                ThrowsMessage<Error>(HasSubstr("node 12 \"gemm\": attribute x is no 64-bit integer")))
        << static_cast<const TraceNode&>(node).attributes[0].bits;
  }
  EXPECT_EQ(integer_attribute(NodeWith([](auto& a) { a.set_double_val(-0x1p63); }), "x"), INT64_MIN);
}

TEST(Attributes, TextIsStringOrBytes) {
  EXPECT_EQ(string_attribute(NodeWith([](auto& a) { a.set_string_val("tp_0"); }), "x"), "tp_0");
  EXPECT_EQ(string_attribute(NodeWith([](auto& a) { a.set_bytes_val("tp_1"); }), "x"), "tp_1");
  EXPECT_EQ(string_attribute(NodeWith([](auto& a) { a.set_string_val(""); }), "x"), "");
  EXPECT_THROW(string_attribute(NodeWith([](auto& a) { a.mutable_string_list()->add_values("a"); }), "x"), Error);
}

TEST(Attributes, TruthListsAreBoolLists) {
  const NodeWith node([](auto& a) {
    for (const bool value : {true, false, true}) a.mutable_bool_list()->add_values(value);
  });
  EXPECT_EQ(truth_list_attribute(node, "x"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(truth_list_attribute(node, "y"), std::nullopt);
  EXPECT_THROW(truth_list_attribute(NodeWith([](auto& a) { a.set_bool_val(true); }), "x"), Error);
  EXPECT_THROW(truth_list_attribute(NodeWith([](auto& a) { a.mutable_string_list()->add_values("\x02"); }), "x"),
               Error);
}

TEST(Attributes, ListsOfCountsAreIntegersOrText) {
  const std::vector<int64_t> counts = {0, 300, 7};
  const auto add = [&](auto& list) { list.mutable_values()->Add(counts.begin(), counts.end()); };
  EXPECT_EQ(count_list_attribute(NodeWith([&](auto& a) { add(*a.mutable_int64_list()); }), "x"), counts);
  EXPECT_EQ(count_list_attribute(NodeWith([&](auto& a) { add(*a.mutable_uint32_list()); }), "x"), counts);
  EXPECT_EQ(count_list_attribute(NodeWith([](auto& a) { a.set_string_val(" [0, 300,7 ]"); }), "x"), counts);
  EXPECT_EQ(count_list_attribute(NodeWith([](auto& a) { a.set_string_val("[]"); }), "x"), std::vector<int64_t>());
  EXPECT_EQ(count_list_attribute(NodeWith([](auto& a) { a.set_string_val("[1]"); }), "y"), std::nullopt);
  for (const char* text : {"", "[", "[1", "[1,]", "[-1]", "[1] 2", "1, 2", "[99999999999999999999]", "[1 2]", "[,1]"})
    EXPECT_THROW(count_list_attribute(NodeWith([&](auto& a) { a.set_string_val(text); }), "x"), Error) << text;
  EXPECT_THROW(count_list_attribute(NodeWith([](auto& a) { a.mutable_int64_list()->add_values(-1); }), "x"), Error);
  EXPECT_THROW(count_list_attribute(NodeWith([&](auto& a) { add(*a.mutable_sint64_list()); }), "x"), Error)
      << "another encoding";
  EXPECT_THROW(count_list_attribute(NodeWith([](auto& a) { a.set_int64_val(3); }), "x"), Error);
}

TEST(Attributes, FieldNumbersAreThoseOfChakra) {
  // Chakra numbers the values 3 (double) to 32 (bytes list) in the order of this schema, list behind scalar.
  const char* types[] = {"double",  "float",   "int32",    "int64",    "uint32", "uint64", "sint32", "sint64",
                         "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",   "string", "bytes"};
  const auto* descriptor = chakra::AttributeProto::descriptor();
  int number = 3;
  for (const std::string type : types) {
    EXPECT_EQ(descriptor->FindFieldByName(type + "_val")->number(), number++);
    EXPECT_EQ(descriptor->FindFieldByName(type + "_list")->number(), number++);
  }
}

}  // namespace
}  // namespace rankwire
