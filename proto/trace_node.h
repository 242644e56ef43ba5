// A node of a trace as its file has it, whatever schema the file follows.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "proto/chakra.pb.h"

namespace rankwire {

/// A named value. Views are as long valid as the node's.
struct TraceAttribute {
  enum class Form : uint8_t {
    kNone,      ///< a name without a value
    kSigned,    ///< `bits` is an int64
    kUnsigned,  ///< `bits` is a uint64, or a truth value
    kReal,      ///< `bits` is a double
    kText,      ///< string or bytes
    kList,  ///< several values: the fields `values` of the message `text`, of which other fields say nothing; `bits`
            ///< is the number of such a list in AttributeProto, or 0 where the values are of no one type
  };

  std::string_view name;
  std::string_view text;
  uint64_t bits = 0;
  Form form = Form::kNone;
  uint32_t values = 1;  ///< kList: another number than 1 before schema 0.0.4, where values stand beside other things

  double real() const noexcept { return std::bit_cast<double>(bits); }

  void set_signed(int64_t value) noexcept {
    form = Form::kSigned;
    bits = static_cast<uint64_t>(value);
  }
  void set_unsigned(uint64_t value) noexcept {
    form = Form::kUnsigned;
    bits = value;
  }
  void set_real(double value) noexcept {
    form = Form::kReal;
    bits = std::bit_cast<uint64_t>(value);
  }
  void set_text(std::string_view value) noexcept {
    form = Form::kText;
    text = value;
  }
  /// A list of the type of this number in AttributeProto, or 0, whose values are these fields of the message.
  void set_list(uint32_t type, std::string_view message, uint32_t fields) noexcept {
    form = Form::kList;
    bits = type;
    text = message;
    values = fields;
  }
};

/// What a node reads or writes, as Python literals.
struct TraceTensors {
  std::string_view values, shapes, types;
};

/// In terms of schema 0.0.4: types, attributes and collectives of older schemas have been translated. Views point into
/// the reader's memory and are valid until it reads the next node.
struct TraceNode {
  uint64_t id = 0;
  std::string_view name;
  uint32_t type = chakra::INVALID_NODE;  ///< chakra::NodeType, or one that this schema does not have
  std::vector<uint64_t> control_deps;    ///< ids; may refer forward, repeat, or name the node itself
  std::vector<uint64_t> data_deps;
  uint64_t start = 0, duration = 0;  ///< in `unit`s
  Duration unit = microseconds(1);   ///< 1 ns where the schema is 0.0.1
  TraceTensors inputs, outputs;
  std::vector<TraceAttribute> attributes;  ///< in their order

  /// As new, but with the memory that it has.
  void clear() noexcept;
};

}  // namespace rankwire
