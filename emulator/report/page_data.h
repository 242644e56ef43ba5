// Data that the page has for its scripts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// At most `limit` bytes, whole characters of UTF-8.
std::string_view cut_text(std::string_view text, size_t limit);
/// The same with an ellipsis where something is cut off.
std::string shortened_text(std::string_view text, size_t limit);

/// Differences to the number before, the first to 0, in the base 64 VLQ of source maps.
std::string vlq_differences(const std::vector<int64_t>& numbers);

/// JSON in ASCII that may stand in a `<script>`, and in a quoted attribute. Texts that are no UTF-8 are repaired.
std::string json_in_script(const nlohmann::ordered_json& json);
std::string json_in_attribute(const nlohmann::ordered_json& json);

}  // namespace rankwire
