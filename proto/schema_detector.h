// Which schema a trace follows: files do not name it before 0.0.4.
#pragma once

#include <string_view>

#include "proto/trace_schema.h"

namespace rankwire {

/// Finds out the schema from the first frames of a file.
class SchemaDetector {
 public:
  /// `frame` is a node's.
  void look_at(std::string_view frame);
  /// Of what has been seen; 0.0.4 when nothing speaks against it.
  TraceSchema schema() const;

 private:
  void look_at_old_attribute(std::string_view attribute);

  bool has_old_attributes_ = false;  ///< field 11 with a name
  bool has_old_fields_ = false;      ///< 0.0.1's numbers of communication, fields 12 to 20
  bool has_unpacked_parents_ = false;
  bool has_new_fields_ = false;  ///< packed dependencies, or attributes in field 10
  bool is_002_ = false;          ///< an attribute in the layout of 0.0.2 alone
};

}  // namespace rankwire
