// Any bytes as a node of a trace: of the present schema what protobuf reads, of older ones what lies within the bytes.
#include <google/protobuf/stubs/logging.h>

#include <string>

#include "proto/schema_detector.h"
#include "proto/wire.h"
#include "tests/fuzz/input.h"
#include "tests/proto/same_node.h"

namespace rankwire {
namespace {

using fuzz::require;

bool lies_within(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_old(std::string_view frame, TraceSchema schema) {
  TraceNode node;
  if (!parse_node(frame, schema, node)) return;
  require(lies_within(node.name, frame) && lies_within(node.inputs.values, frame), "texts lie within the frame");
  for (const TraceAttribute& attribute : node.attributes) {
    require(lies_within(attribute.text, frame), "values lie within the frame");
  }
}

/// Whether an attribute has a list, which is not looked into, even where a later value takes its place.
bool has_list(std::string_view frame) {
  WireFields fields(frame);
  while (fields.next()) {
    if (!fields.is(chakra::Node::kAttrFieldNumber, WireType::kBytes)) continue;
    WireFields values(fields.bytes());
    while (values.next()) {
      const bool list = values.number() > chakra::AttributeProto::kDocStringFieldNumber && values.number() % 2 == 0 &&
                        values.number() <= chakra::AttributeProto::kBytesListFieldNumber;
      if (list && values.type() == WireType::kBytes) return true;
    }
  }
  return false;
}

void check_present(std::string_view frame) {
  TraceNode node;
  const bool read = parse_node(frame, TraceSchema::k004, node);
  chakra::Node wanted;
  const bool good = wanted.ParseFromArray(frame.data(), static_cast<int>(frame.size()));
  require(good || !read || has_list(frame), "what protobuf refuses is refused");
  require(read || !good || testing::has_group(wanted), "what protobuf reads is read");
  if (read && good) require(testing::difference(node, wanted).empty(), "what both read is the same");
}

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  static const google::protobuf::LogSilencer quiet;
  const std::vector<uint8_t> bytes = fuzz::Input(data, size).rest();
  const std::string_view frame(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  is_metadata(frame);
  SchemaDetector detector;
  detector.look_at(frame);
  detector.schema();
  for (const TraceSchema schema : {TraceSchema::k001, TraceSchema::k002, TraceSchema::k003}) check_old(frame, schema);
  check_present(frame);
  return 0;
}
