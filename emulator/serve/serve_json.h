// JSON from strangers, and what they are told where it is wrong.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// Bytes of a request's JSON, at most.
inline constexpr size_t kMostJson = 4 << 20;

/// Nothing is an empty object. Throws ServeError 400 for what is no JSON, for what is nested deeper than any request,
/// and for an object that has a key twice.
nlohmann::json parse_request(std::string_view text);
/// The model's error.
nlohmann::json otg_error(int status, const std::vector<std::string>& errors);

}  // namespace rankwire
