#include "proto/schema_detector.h"

#include "proto/wire.h"

namespace rankwire {
namespace {

/// The beginning of a message whose field 1 is a text: an attribute's name.
bool begins_with_name(std::string_view message) noexcept {
  return message.starts_with("\x0A");
}

}  // namespace

void SchemaDetector::look_at(std::string_view frame) {
  WireFields fields(frame);
  while (fields.next()) {
    const bool varint = fields.type() == WireType::kVarint, bytes = fields.type() == WireType::kBytes;
    const uint32_t number = fields.number();
    if (number == 4 && varint) has_unpacked_parents_ = true;
    if (varint && number >= 12 && number <= 20) has_old_fields_ = true;
    if (bytes && number == 11 && begins_with_name(fields.bytes())) look_at_old_attribute(fields.bytes());
    if (bytes && (number == 4 || number == 5 || (number == 10 && begins_with_name(fields.bytes()))))
      has_new_fields_ = true;
  }
}

// 0.0.2's float, int and texts stand where 0.0.3 has bool, float and a number.
void SchemaDetector::look_at_old_attribute(std::string_view attribute) {
  has_old_attributes_ = true;
  WireFields fields(attribute);
  while (fields.next()) {
    if (fields.is(4, WireType::kFixed32) || fields.is(5, WireType::kVarint) || fields.is(6, WireType::kBytes) ||
        fields.is(7, WireType::kFixed32))
      is_002_ = true;
  }
}

TraceSchema SchemaDetector::schema() const {
  if (has_old_attributes_) return is_002_ ? TraceSchema::k002 : TraceSchema::k003;
  if (has_old_fields_ || (has_unpacked_parents_ && !has_new_fields_)) return TraceSchema::k001;
  return TraceSchema::k004;
}

}  // namespace rankwire
