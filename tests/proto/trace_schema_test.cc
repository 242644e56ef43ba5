// Nodes as bytes: of the present schema held against protobuf, of older ones written field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "proto/attribute_copy.h"
#include "proto/attributes.h"
#include "proto/schema_detector.h"
#include "proto/wire.h"
#include "tests/proto/same_node.h"
#include "tests/proto/wire_bytes.h"

namespace rankwire {
namespace {

using testing::bytes_field;
using ::testing::ElementsAre;
using testing::fixed32_field;
using ::testing::IsEmpty;
using testing::varint_field;

using Random = std::mt19937_64;

std::string some_text(Random& random) {
  std::string text(random() % 12, 'x');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return random() % 8 == 0 ? text + "é" : text;
}

void set_some_value(chakra::AttributeProto& attribute, Random& random) {
  const auto* descriptor = chakra::AttributeProto::descriptor()->FindOneofByName("value");
  const auto* field = descriptor->field(static_cast<int>(random() % static_cast<uint64_t>(descriptor->field_count())));
  const auto* reflection = attribute.GetReflection();
  using Field = google::protobuf::FieldDescriptor;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_DOUBLE:
      return reflection->SetDouble(&attribute, field, static_cast<double>(random() % 1000) / 8);
    case Field::CPPTYPE_FLOAT:
      return reflection->SetFloat(&attribute, field, static_cast<float>(random() % 1000) / 8);
    case Field::CPPTYPE_INT32:
      return reflection->SetInt32(&attribute, field, static_cast<int32_t>(random()));
    case Field::CPPTYPE_INT64:
      return reflection->SetInt64(&attribute, field, static_cast<int64_t>(random()));
    case Field::CPPTYPE_UINT32:
      return reflection->SetUInt32(&attribute, field, static_cast<uint32_t>(random()));
    case Field::CPPTYPE_UINT64:
      return reflection->SetUInt64(&attribute, field, random());
    case Field::CPPTYPE_BOOL:
      return reflection->SetBool(&attribute, field, random() % 2 == 0);
    case Field::CPPTYPE_STRING:
      return reflection->SetString(&attribute, field, some_text(random));
    default:
      // Lists: some values of an arbitrary one of them.
      for (uint64_t i = random() % 4; i > 0; --i)
        attribute.mutable_int64_list()->add_values(static_cast<int64_t>(random()));
  }
}

chakra::Node some_node(Random& random) {
  chakra::Node node;
  if (random() % 4 > 0) node.set_id(random() >> (random() % 64));
  if (random() % 4 > 0) node.set_name(some_text(random));
  node.set_type(static_cast<chakra::NodeType>(random() % 11));
  for (uint64_t i = random() % 4; i > 0; --i) node.add_ctrl_deps(random() >> (random() % 64));
  for (uint64_t i = random() % 4; i > 0; --i) node.add_data_deps(random() >> (random() % 64));
  if (random() % 4 == 0) node.set_start_time_micros(random());
  if (random() % 2 == 0) node.set_duration_micros(random() % 100'000);
  if (random() % 4 == 0) node.mutable_inputs()->set_values(some_text(random));
  if (random() % 4 == 0) node.mutable_outputs()->set_shapes(some_text(random));
  for (uint64_t i = random() % 6; i > 0; --i) {
    chakra::AttributeProto* attribute = node.add_attr();
    attribute->set_name(some_text(random));
    if (random() % 8 > 0) set_some_value(*attribute, random);
  }
  return node;
}

TEST(TraceSchema, NodesAreThoseThatProtobufReads) {
  Random random(1);
  TraceNode node;
  for (int i = 0; i < 5'000; ++i) {
    const chakra::Node wanted = some_node(random);
    const std::string bytes = wanted.SerializeAsString();
    ASSERT_TRUE(parse_node(bytes, TraceSchema::k004, node));
    ASSERT_EQ(testing::difference(node, wanted), "") << wanted.ShortDebugString();
  }
}

// Whatever is done to the bytes: what protobuf refuses is refused, what it reads is read alike. Groups, which the
// schema does not have, are refused here and skipped there; lists are not looked into.
TEST(TraceSchema, DamagedNodesAreReadAsProtobufReadsThem) {
  Random random(2);
  TraceNode node;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = some_node(random).SerializeAsString();
    for (uint64_t times = 1 + random() % 3; times > 0 && !bytes.empty(); --times) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    chakra::Node wanted;
    const bool good = wanted.ParseFromString(bytes);
    const bool read = parse_node(bytes, TraceSchema::k004, node);
    const bool has_list = std::ranges::any_of(
        node.attributes, [](const TraceAttribute& a) { return a.form == TraceAttribute::Form::kList; });
    ASSERT_TRUE(good || !read || has_list) << ::testing::PrintToString(bytes);
    ASSERT_TRUE(read || !good || testing::has_group(wanted)) << wanted.ShortDebugString();
    if (good && read) {
      ASSERT_EQ(testing::difference(node, wanted), "") << wanted.ShortDebugString();
    }
    refused += !read;
  }
  EXPECT_GT(refused, 1000);
}

TraceSchema detected(std::initializer_list<std::string> frames) {
  SchemaDetector detector;
  for (const std::string& frame : frames) detector.look_at(frame);
  return detector.schema();
}

// The layouts of AttributeProto: number of the field of a single value of each kind, and of a list of integers.
struct Layout {
  const char* name;
  TraceSchema schema;
  uint32_t integer, real, text, integers;
};
const Layout kLayouts[] = {
    {"V002", TraceSchema::k002, 5, 4, 6, 8},
    {"V003", TraceSchema::k003, 6, 5, 7, 10},
    {"V003WithUnsigned", TraceSchema::k003, 7, 5, 8, 12},
};

class OldAttributes : public ::testing::TestWithParam<Layout> {
 protected:
  static std::string attribute(const std::string& name, const std::string& value) {
    return bytes_field(11, bytes_field(1, name) + varint_field(2, 1) + value);
  }
  static std::string integer(const std::string& name, uint64_t value) {
    return attribute(name, varint_field(GetParam().integer, value));
  }
};

// id 3, type COMM_COLL (6 before METADATA was added, then 7), parents 1 and 2, not packed, and attributes in field 11.
TEST_P(OldAttributes, AreTranslated) {
  const bool v002 = GetParam().schema == TraceSchema::k002;
  const std::string frame =
      varint_field(1, 3) + bytes_field(2, "grads") + varint_field(3, v002 ? 6 : 7) + varint_field(4, 1) +
      varint_field(4, 2) + bytes_field(5, "[1]") + bytes_field(9, "[2]") + integer("comm_type", 3) +
      integer("comm_size", 4096) + integer("runtime", 12) + integer("is_host_op", 1) +
      attribute("share", fixed32_field(GetParam().real, 0.5F)) + attribute("op", bytes_field(GetParam().text, "sum")) +
      attribute("list", varint_field(GetParam().integers, 1) + varint_field(GetParam().integers, 2));
  EXPECT_EQ(detected({frame}), GetParam().schema);
  TraceNode node;
  ASSERT_TRUE(parse_node(frame, GetParam().schema, node));
  EXPECT_EQ(node.id, 3u);
  EXPECT_EQ(node.name, "grads");
  EXPECT_EQ(node.type, chakra::COMM_COLL_NODE);
  EXPECT_THAT(node.data_deps, ElementsAre(1, 2));
  EXPECT_THAT(node.control_deps, IsEmpty());
  EXPECT_EQ(node.duration, 12u);
  EXPECT_EQ(node.unit, microseconds(1));
  EXPECT_EQ(node.inputs.values, "[1]");
  EXPECT_EQ(node.outputs.shapes, "[2]");
  // REDUCE_SCATTER was 3 and is 7.
  EXPECT_EQ(integer_attribute(node, "comm_type"), chakra::REDUCE_SCATTER);
  EXPECT_EQ(integer_attribute(node, "comm_size"), 4096);
  EXPECT_EQ(bool_attribute(node, "is_cpu_op"), true);
  EXPECT_EQ(string_attribute(node, "op"), "sum");
  EXPECT_EQ(node.attributes[4].real(), 0.5);
  EXPECT_EQ(node.attributes[6].form, TraceAttribute::Form::kList);
}

INSTANTIATE_TEST_SUITE_P(Layouts, OldAttributes, ::testing::ValuesIn(kLayouts),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(TraceSchema, DimensionsOf001AreAList) {
  const std::string frame = varint_field(1, 9) + bytes_field(2, "grads") + varint_field(3, 6) + varint_field(13, 1) +
                            varint_field(14, 1) + varint_field(14, 0) + varint_field(14, 1) + varint_field(18, 64);
  TraceNode node;
  ASSERT_TRUE(parse_node(frame, TraceSchema::k001, node));
  EXPECT_EQ(truth_list_attribute(node, "involved_dim"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(integer_attribute(node, "comm_size"), 64);
  EXPECT_EQ(node.attributes.size(), 3u);
  chakra::AttributeProto copy;
  EXPECT_TRUE(copy_attribute(node.attributes[1], copy));
  EXPECT_THAT(copy.bool_list().values(), ElementsAre(true, false, true));
}

// All of 0.0.1's fields that have a meaning today; COMM_SEND was 4.
TEST(TraceSchema, FixedFieldsOf001BecomeAttributes) {
  const std::string frame = varint_field(1, 9) + bytes_field(2, "send") + varint_field(3, 4) + varint_field(4, 7) +
                            varint_field(4, 8) + varint_field(6, 64) + varint_field(7, 1500) + varint_field(12, 5) +
                            varint_field(13, 4) + varint_field(14, 1) + varint_field(16, 0) + varint_field(17, 1) +
                            varint_field(18, 1 << 20) + varint_field(19, 3);
  EXPECT_EQ(detected({frame}), TraceSchema::k001);
  TraceNode node;
  ASSERT_TRUE(parse_node(frame, TraceSchema::k001, node));
  EXPECT_EQ(node.type, chakra::COMM_SEND_NODE);
  EXPECT_THAT(node.data_deps, ElementsAre(7, 8));
  EXPECT_EQ(node.unit * static_cast<int64_t>(node.duration), nanoseconds(1500));
  EXPECT_EQ(integer_attribute(node, "tensor_size"), 64);
  EXPECT_EQ(integer_attribute(node, "num_ops"), 5);
  EXPECT_EQ(integer_attribute(node, "comm_type"), chakra::REDUCE_SCATTER);  // counted from 1: the fourth
  EXPECT_EQ(integer_attribute(node, "comm_src"), 0);
  EXPECT_EQ(integer_attribute(node, "comm_dst"), 1);
  EXPECT_EQ(integer_attribute(node, "comm_size"), 1 << 20);
  EXPECT_EQ(integer_attribute(node, "comm_tag"), 3);
}

TEST(SchemaDetector, TakesAFileOfComputationsWithUnpackedParentsForTheOldest) {
  EXPECT_EQ(detected({varint_field(1, 1) + varint_field(3, 3) + varint_field(7, 5),
                      varint_field(1, 2) + varint_field(3, 3) + varint_field(4, 1) + varint_field(7, 5)}),
            TraceSchema::k001);
}

TEST(SchemaDetector, TakesWhatSpeaksForNothingForThePresent) {
  EXPECT_EQ(detected({}), TraceSchema::k004);
  EXPECT_EQ(detected({varint_field(1, 1) + varint_field(3, 4) + varint_field(7, 5)}), TraceSchema::k004);
  // A storage node, as proposed: field 11 is a message whose first field is a number.
  EXPECT_EQ(detected({varint_field(1, 3) + varint_field(3, 8) + bytes_field(11, varint_field(1, 1))}),
            TraceSchema::k004);
}

TEST(SchemaDetector, OneNodeWithAttributesDecidesForAll) {
  const std::string plain = varint_field(1, 1) + varint_field(3, 3) + bytes_field(5, "[1, 2]");
  const std::string with = plain + bytes_field(11, bytes_field(1, "a") + varint_field(2, 1) + varint_field(5, 4));
  EXPECT_EQ(detected({plain, plain, with}), TraceSchema::k002);
}

TEST(WireFields, EndsWhereTheMessageIsBroken) {
  for (const std::string& broken :
       {std::string("\x08"), std::string("\x08\x80"), std::string("\x0A\x05x"), std::string("\x0D\x01\x02", 3),
        std::string("\x09\x01"), std::string("\x00\x01", 2), std::string("\x0B\x0C"),
        std::string("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")}) {
    WireFields fields(broken);
    while (fields.next()) {
    }
    EXPECT_FALSE(fields.whole()) << ::testing::PrintToString(broken);
  }
  WireFields fields("");
  EXPECT_FALSE(fields.next());
  EXPECT_TRUE(fields.whole());
}

}  // namespace
}  // namespace rankwire
