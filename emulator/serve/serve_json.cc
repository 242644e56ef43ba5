#include "emulator/serve/serve_json.h"

#include <fmt/format.h>

#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

constexpr int kDeepest = 32;

}  // namespace

nlohmann::json parse_request(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return nlohmann::json::object();
  try {
    return nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
      if (depth > kDeepest) throw ServeError(400, fmt::format("JSON that is nested deeper than {}", kDeepest));
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    throw ServeError(400, fmt::format("no JSON: {}", error.what()));
  }
}

}  // namespace rankwire
