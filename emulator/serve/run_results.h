// What a run has left in its folder.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// A row of a table by column.
using CsvRow = std::map<std::string, std::string, std::less<>>;

/// Rows of a CSV file with a heading (RFC 4180, lines end with "\n"); none where there is no file.
std::vector<CsvRow> read_csv(const std::filesystem::path& file);

/// Calls `visit` with the fields of one row after the other, in the order of the heading, which is returned.
std::vector<std::string> for_each_csv_row(
    const std::filesystem::path& file,
    const std::function<void(std::span<const std::string> heading, std::span<const std::string> fields)>& visit);

/// A run's summary.json; null where there is none.
nlohmann::json summary_of_run(const std::filesystem::path& run);

}  // namespace rankwire
