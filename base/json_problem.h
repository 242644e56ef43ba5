// What is wrong with a JSON file, in words for who wrote or cut it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rankwire {

/// A document read from `text`. Throws Error(kInput), "FILE:LINE: WHAT: ..." with the line that is no JSON; `what` is
/// what the file should be, such as "is not the result of a suite".
nlohmann::ordered_json parse_json(std::string_view text, const std::string& file, std::string_view what);

/// The library's words without its own name, numbers and places: "key 'id' not found".
std::string json_problem(const nlohmann::json::exception& error);

}  // namespace rankwire
