#include "emulator/serve/serve_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

constexpr int kDeepest = 32;

}  // namespace

nlohmann::json parse_request(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return nlohmann::json::object();
  try {
    using ParseEvent = nlohmann::json::parse_event_t;
    std::vector<std::set<std::string>> keys;  // of the objects that are open, from the outermost
    return nlohmann::json::parse(text, [&keys](int depth, ParseEvent event, const nlohmann::json& parsed) {
      if (depth > kDeepest) throw ServeError(400, fmt::format("JSON that is nested deeper than {}", kDeepest));
      if (event == ParseEvent::object_start) keys.emplace_back();
      if (event == ParseEvent::object_end) keys.pop_back();
      // The parser keeps the last one: what the others say would be ignored.
      if (event == ParseEvent::key && !keys.back().insert(parsed.get<std::string>()).second)
        throw ServeError(400, fmt::format("JSON that has the key '{}' twice in an object", parsed.get<std::string>()));
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    throw ServeError(400, fmt::format("no JSON: {}", error.what()));
  }
}

nlohmann::json otg_error(int status, const std::vector<std::string>& errors) {
  constexpr size_t kMost = 100;
  std::vector<std::string> told(errors.begin(),
                                errors.begin() + static_cast<ptrdiff_t>(std::min(errors.size(), kMost)));
  if (errors.size() > kMost) told.push_back(fmt::format("and {} more", errors.size() - kMost));
  return {{"code", status}, {"kind", status < 500 ? "validation" : "internal"}, {"errors", told}};
}

}  // namespace rankwire
