// Attributes of the schemas before 0.0.4, written field by field.
#include "proto/trace_attribute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/attribute_copy.h"
#include "tests/proto/wire_bytes.h"

namespace rankwire {
namespace {

using testing::bytes_field;
using ::testing::ElementsAre;
using testing::fixed32_field;
using testing::varint_field;

/// The attribute of an old schema with these fields beside name and type, in the present one.
chakra::AttributeProto copied(TraceSchema schema, const std::string& values) {
  const std::string message = bytes_field(1, "list") + varint_field(2, 1) + values;
  TraceAttribute attribute;
  chakra::AttributeProto copy;
  EXPECT_TRUE(parse_old_attribute(message, schema, attribute));
  EXPECT_TRUE(copy_attribute(attribute, copy));
  return copy;
}

// Numbers of the fields are those of the three layouts, eg_def.proto of 2719463, 9d917e3 and 7bab792.
TEST(TraceAttribute, OldListsHaveTheTypeOfTheirField) {
  const auto floats = [](uint32_t field) { return fixed32_field(field, 0.5F) + fixed32_field(field, -2.0F); };
  const auto integers = [](uint32_t field) { return varint_field(field, 300) + varint_field(field, UINT64_MAX); };
  const auto truths = [](uint32_t field) { return varint_field(field, 1) + varint_field(field, 0); };
  const auto texts = [](uint32_t field) { return bytes_field(field, "a") + bytes_field(field, ""); };
  EXPECT_THAT(copied(TraceSchema::k002, floats(7)).float_list().values(), ElementsAre(0.5F, -2.0F));
  EXPECT_THAT(copied(TraceSchema::k002, integers(8)).int64_list().values(), ElementsAre(300, -1));
  EXPECT_THAT(copied(TraceSchema::k002, texts(9)).string_list().values(), ElementsAre("a", ""));
  for (const uint32_t behind : {0u, 1u}) {  // the third layout has everything one field later
    EXPECT_THAT(copied(TraceSchema::k003, truths(8 + behind)).bool_list().values(), ElementsAre(true, false));
    EXPECT_THAT(copied(TraceSchema::k003, floats(9 + behind)).float_list().values(), ElementsAre(0.5F, -2.0F));
    EXPECT_THAT(copied(TraceSchema::k003, integers(10 + 2 * behind)).int64_list().values(), ElementsAre(300, -1));
    EXPECT_THAT(copied(TraceSchema::k003, texts(11 + 2 * behind)).string_list().values(), ElementsAre("a", ""));
  }
  EXPECT_THAT(copied(TraceSchema::k003, integers(11)).uint64_list().values(), ElementsAre(300, UINT64_MAX));
}

TEST(TraceAttribute, AFieldThatNoLayoutHasIsNoList) {
  const std::string message = bytes_field(1, "list") + varint_field(15, 1);
  TraceAttribute attribute;
  chakra::AttributeProto copy;
  EXPECT_TRUE(parse_old_attribute(message, TraceSchema::k002, attribute));
  EXPECT_FALSE(copy_attribute(attribute, copy));
}

}  // namespace
}  // namespace rankwire
