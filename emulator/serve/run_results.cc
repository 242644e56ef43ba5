#include "emulator/serve/run_results.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace rankwire {
namespace {

/// Takes one row from the front of `text`.
std::vector<std::string> take_row(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && is_quoted && at + 1 < text.size() && text[at + 1] == '"') {
      fields.back() += text[++at];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c == '\n' && !is_quoted) {
      ++at;
      break;
    } else {
      fields.back() += c;
    }
  }
  text.remove_prefix(at);
  return fields;
}

std::string whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<CsvRow> read_csv(const std::filesystem::path& file) {
  const std::string content = whole(file);
  std::string_view text = content;
  const std::vector<std::string> heading = take_row(text);
  std::vector<CsvRow> rows;
  while (!text.empty()) {
    std::vector<std::string> fields = take_row(text);
    CsvRow& row = rows.emplace_back();
    for (size_t i = 0; i < fields.size() && i < heading.size(); ++i) row[heading[i]] = std::move(fields[i]);
  }
  return rows;
}

std::vector<std::string> for_each_csv_row(
    const std::filesystem::path& file,
    const std::function<void(std::span<const std::string> heading, std::span<const std::string> fields)>& visit) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::string> heading;
  std::string row, line;
  while (std::getline(stream, line)) {
    row += line + "\n";
    // Within quotes a row goes on in the next line.
    if (std::count(row.begin(), row.end(), '"') % 2 != 0) continue;
    std::string_view text = row;
    std::vector<std::string> fields = take_row(text);
    if (heading.empty()) {
      heading = std::move(fields);
    } else {
      visit(heading, fields);
    }
    row.clear();
  }
  return heading;
}

nlohmann::json summary_of_run(const std::filesystem::path& run) {
  nlohmann::json summary = nlohmann::json::parse(whole(run / "summary.json"), nullptr, false);
  return summary.is_object() ? summary : nlohmann::json();
}

}  // namespace rankwire
