#include "emulator/input/kernel_table.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "emulator/input/compute_schema.h"

namespace rankwire {
namespace {

enum Column : size_t { kPattern, kRanks, kGroup, kDuration, kPerFlop, kPerByte, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"pattern",  "ranks",       "group",
                                                           "duration", "ps_per_flop", "ps_per_byte"};

/// The fields of a line.
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    std::string& field = fields.back();
    if (quoted && line.substr(i, 2) == "\"\"") {
      field += line[i++];
    } else if (line[i] == '"' && (quoted || field.empty())) {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      field += line[i];
    }
  }
  if (quoted) throw ValueError("a quotation is not closed");
  return fields;
}

class TableReader {
 public:
  explicit TableReader(const std::function<std::vector<RankId>(const std::string&)>& members_of)
      : members_of_(members_of) {}

  void heading(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto column = std::ranges::find(kNames, name);
      if (column == kNames.end())
        throw ValueError(fmt::format("column '{}' is none of {}", name, fmt::join(kNames, ", ")));
      columns_.push_back(static_cast<Column>(column - kNames.begin()));
      if (std::ranges::count(columns_, columns_.back()) > 1)
        throw ValueError(fmt::format("column '{}' is named twice", name));
    }
    if (std::ranges::find(columns_, kPattern) == columns_.end()) throw ValueError("there is no column 'pattern'");
  }
  bool has_heading() const { return !columns_.empty(); }

  KernelRow row(const std::vector<std::string>& fields) const {
    if (fields.size() != columns_.size())
      throw ValueError(fmt::format("{} fields, but {} columns", fields.size(), columns_.size()));
    KernelRow row;
    bool timed = false;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].empty()) continue;
      timed |= columns_[i] >= kDuration;
      try {
        set(row, columns_[i], fields[i]);
      } catch (const ValueError& error) {
        throw ValueError(fmt::format("{}: {}", kNames[columns_[i]], error.what()));
      }
    }
    if (row.pattern.empty()) throw ValueError("there is no pattern");
    if (!timed) throw ValueError("there is neither a duration nor a coefficient");
    return row;
  }

 private:
  void set(KernelRow& row, Column column, const std::string& text) const {
    switch (column) {
      case kPattern:
        row.pattern = text;
        break;
      case kRanks:
        meant(row, ranks_of(text));
        break;
      case kGroup:
        meant(row, members_of_(text));
        if (row.ranks->empty()) throw ValueError(fmt::format("no process group is named '{}'", text));
        break;
      case kDuration:
        row.duration = Duration(parse_quantity(text, kDurationScale));
        break;
      case kPerFlop:
        row.per_operation = coefficient(text);
        break;
      case kPerByte:
        row.per_byte = coefficient(text);
        break;
      case kColumns:
        break;
    }
  }

  /// With both columns, those that are in both.
  static void meant(KernelRow& row, std::vector<RankId> ranks) {
    if (!row.ranks) {
      row.ranks = std::move(ranks);
      return;
    }
    std::erase_if(*row.ranks, [&](RankId rank) { return !std::ranges::binary_search(ranks, rank); });
    if (row.ranks->empty()) throw ValueError("none of the ranks is in the group");
  }

  /// "3", "0-7" or several of these with spaces between them.
  static std::vector<RankId> ranks_of(std::string_view text) {
    std::vector<RankId> ranks;
    while (!text.empty()) {
      const size_t space = std::min(text.find(' '), text.size());
      Tree scalar;
      scalar.text = text.substr(0, space);
      text.remove_prefix(std::min(space + 1, text.size()));
      if (scalar.text.empty()) continue;
      const NumberRange range = Numbers().parse(scalar);
      for (uint32_t rank = range.first; rank <= range.last; ++rank) ranks.push_back(RankId(rank));
    }
    std::ranges::sort(ranks);
    return ranks;
  }

  static int64_t coefficient(std::string_view text) {
    const std::optional<int64_t> value = parse_decimals(text, 9);
    if (!value) throw ValueError(fmt::format("'{}' is not a number of picoseconds with at most nine decimals", text));
    return *value;
  }

  const std::function<std::vector<RankId>(const std::string&)>& members_of_;
  std::vector<Column> columns_;
};

}  // namespace

std::vector<KernelRow> read_kernel_table(const std::filesystem::path& file,
                                         const std::function<std::vector<RankId>(const std::string&)>& members_of) {
  std::ifstream in = open_input(file, "a table of kernels");
  TableReader reader(members_of);
  std::vector<KernelRow> rows;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    try {
      if (reader.has_heading()) {
        rows.push_back(reader.row(split(line)));
      } else {
        reader.heading(split(line));
      }
    } catch (const ValueError& error) {
      fail_input("{}:{}: {}", file.string(), number, error.what());
    }
  }
  if (!reader.has_heading())
    fail_input("{}: the table of kernels is empty; its first line names columns", file.string());
  return rows;
}

}  // namespace rankwire
