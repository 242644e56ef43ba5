#include "emulator/workload/process_groups.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/input_file.h"
#include "base/json_problem.h"
#include "emulator/workload/trace_files.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

/// For errors. What is nested may be so deep that printing it would take all of the stack.
std::string shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<int64_t> parse_ranks(const Json& value, const std::string& name) {
  if (!value.is_array()) fail_input("group \"{}\" is no list of ranks", name);
  std::vector<int64_t> ranks;
  for (const Json& rank : value) {
    if (!rank.is_number_integer()) fail_input("group \"{}\": {} is no rank", name, shown(rank));
    ranks.push_back(rank.get<int64_t>());
  }
  return ranks;
}

/// The string literal that begins at `text[at]` as a JSON string; `at` becomes the position behind it.
std::string string_literal(std::string_view text, size_t& at) {
  const char quote = text[at++];
  std::string value;
  while (at < text.size() && text[at] != quote) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      const bool is_plain = text[at] == '\'' || text[at] == '"' || text[at] == '\\';
      if (!is_plain) value += '\\';
    }
    value += text[at++];
  }
  if (at == text.size()) fail_input("a string does not end");
  ++at;
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A Python literal as JSON: quotes, tuples, None, True and False differ.
std::string python_to_json(std::string_view text) {
  std::string json;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      json += string_literal(text, at);
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      const size_t begin = at;
      while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0) ++at;
      const std::string_view word = text.substr(begin, at - begin);
      json += word == "None" ? "null" : word == "True" ? "true" : word == "False" ? "false" : word;
    } else {
      json += c == '(' ? '[' : c == ')' ? ']' : c;
      ++at;
    }
  }
  return json;
}

Json parse_literal(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) value = Json::parse(python_to_json(text), nullptr, false);
  if (value.is_discarded()) fail_input("the process groups are neither JSON nor a Python list: {:.80}", text);
  return value;
}

std::string group_name(const Json& name) {
  return name.is_string() ? name.get<std::string>() : shown(name);
}

/// "" unless all files are numbered and their names differ in nothing else.
std::string common_prefix(const std::vector<std::string>& files) {
  std::optional<std::string> common;
  for (const std::string& file : files) {
    const std::filesystem::path path(file);
    const std::optional<NumberedName> name = numbered_name(path.filename().string());
    if (!name) return {};
    const std::string prefix = (path.parent_path() / name->base).string();
    if (common.value_or(prefix) != prefix) return {};
    common = prefix;
  }
  return common.value_or("");
}

/// Whether JSON begins as an object of lists of numbers does, whatever comes then: {"name": [0 and so on.
class BeginsAsGroups : public nlohmann::json_sax<Json> {
 public:
  bool answer() const { return events_ == std::string_view("{k[n"); }

  bool null() override { return add('0'); }
  bool boolean(bool) override { return add('b'); }
  bool number_integer(number_integer_t) override { return add('n'); }
  bool number_unsigned(number_unsigned_t) override { return add('n'); }
  bool number_float(number_float_t, const string_t&) override { return add('f'); }
  bool string(string_t&) override { return add('s'); }
  bool binary(binary_t&) override { return add('y'); }
  bool start_object(size_t) override { return add('{'); }
  bool key(string_t&) override { return add('k'); }
  bool end_object() override { return add('}'); }
  bool start_array(size_t) override { return add('['); }
  bool end_array() override { return add(']'); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  /// False when enough has been seen.
  bool add(char event) {
    events_ += event;
    return events_.size() < 4;
  }

  std::string events_;
};

bool begins_as_groups(const std::string& path) {
  std::ifstream file = open_input(path, "a file of process groups");
  BeginsAsGroups seen;
  Json::sax_parse(file, &seen, Json::input_format_t::json, false);
  return seen.answer();
}

bool has_ranks_from(const std::vector<GroupDefinition>& groups, size_t ranks) {
  return std::ranges::any_of(groups, [&](const GroupDefinition& group) {
    return std::ranges::any_of(group.ranks, [&](int64_t rank) { return rank >= static_cast<int64_t>(ranks); });
  });
}

}  // namespace

std::string groups_beside(const std::vector<std::string>& traces) {
  const bool is_prefix = traces.size() == 1 && !std::filesystem::is_regular_file(traces.front());
  const std::string prefix = is_prefix ? traces.front() : common_prefix(traces);
  const std::string path = prefix + ".json";
  if (prefix.empty() || !std::filesystem::is_regular_file(path)) return {};
  try {
    const std::vector<GroupDefinition> groups = read_groups_file(path);
    return is_prefix || !has_ranks_from(groups, traces.size()) ? path : "";
  } catch (const Error&) {
    // A file of groups that was cut short, or changed by hand: without its groups a copy would lose them.
    if (begins_as_groups(path)) throw;
    return {};
  }
}

std::vector<GroupDefinition> read_groups_file(const std::string& path) {
  std::ifstream file = open_input(path, "a file of process groups");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Json groups = Json::parse(text, nullptr, false);
  if (groups.is_discarded()) parse_json(text, path, "is no file of process groups");  // throws, and says where
  try {
    if (!groups.is_object()) fail_input("the process groups must be an object {{\"name\": [ranks]}}");
    std::vector<GroupDefinition> definitions;
    for (const auto& [name, ranks] : groups.items())
      definitions.push_back({.name = name, .ranks = parse_ranks(ranks, name)});
    for (const GroupDefinition& group : definitions) {
      if (group.ranks.empty()) fail_input("group \"{}\" has no ranks", group.name);
    }
    return definitions;
  } catch (const Error& error) {
    fail_input("{}: {}", path, error.what());
  } catch (const nlohmann::json::exception& error) {
    fail_input("{}: {}", path, json_problem(error));
  }
}

std::vector<GroupDefinition> parse_process_groups(const std::string& values) {
  Json groups = parse_literal(values);
  if (groups.is_array() && !groups.empty() && groups.front().is_string()) {
    groups = parse_literal(groups.front().get<std::string>());
  }
  if (!groups.is_array()) fail_input("the process groups are no list: {:.80}", values);
  std::vector<GroupDefinition> definitions;
  for (const Json& group : groups) {
    if (!group.is_object() || !group.contains("pg_name") || !group.contains("ranks")) {
      fail_input("a process group needs pg_name and ranks: {:.80}", values);
    }
    const std::string name = group_name(group["pg_name"]);
    const auto size = group.find("group_size");
    const bool has_size = size != group.end() && size->is_number_integer();
    definitions.push_back({name, parse_ranks(group["ranks"], name), has_size ? size->get<int64_t>() : 0});
  }
  return definitions;
}

}  // namespace rankwire
