#include "base/json_problem.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace rankwire {

nlohmann::ordered_json parse_json(std::string_view text, const std::string& file, std::string_view what) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    if (error.byte > text.size())
      fail_input("{}:{}: {}: it ends too early{}", file, line, what, text.empty() ? ", being empty" : "");
    if (!is_utf8(text)) fail_input("{}:{}: {}: a text is not in UTF-8", file, line, what);
    fail_input("{}:{}: {}: {}", file, line, what, json_problem(error));
  } catch (const nlohmann::json::out_of_range& error) {
    fail_input("{}: {}: {}", file, what, json_problem(error));  // a number beyond any double
  }
}

std::string json_problem(const nlohmann::json::exception& error) {
  std::string_view text = error.what();
  // "[json.exception.out_of_range.403] key 'id' not found", "[...] parse error at line 3, column 7: syntax error ..."
  for (const auto& [begin, end] : {std::pair("[json.exception.", "] "), {"parse error at line ", ": "}}) {
    const size_t behind = text.starts_with(begin) ? text.find(end) : std::string_view::npos;
    if (behind != std::string_view::npos) text.remove_prefix(behind + std::string_view(end).size());
  }
  return std::string(text);
}

}  // namespace rankwire
