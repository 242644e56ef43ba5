// Which frames a capture of the Open Traffic Generator API keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/serve/json_reader.h"

namespace rankwire {

/// A field of a frame and what it has to be.
struct FrameField {
  uint32_t offset = 0;    ///< of its first bit, from the first of the frame
  std::string bits;       ///< '0' and '1', as many as the field has
  bool is_other = false;  ///< anything else is wanted

  /// False for a frame that ends before.
  bool matches(std::string_view frame) const;
};

/// `filters` of a capture: each of these has to match. What is not served is an error of the reader.
std::vector<FrameField> read_capture_filters(JsonReader& capture);

}  // namespace rankwire
