// Further columns of sweeps and studies: values of the points' summaries.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// A value of `summary.json`.
struct SweepColumn {
  std::string title;  ///< of the column in tables: as it was asked for
  std::string name;   ///< of the column in files: `title` with its unit
  std::string path;   ///< names with dots in between, and places in brackets: "transport.ecn_ce_rx", "jobs[0].name"
};

/// "A,B,...": paths and short names ("marks"). Throws Error(kInput) for what is no path, or is there twice.
std::vector<SweepColumn> parse_sweep_columns(std::string_view text);
/// The short names.
std::vector<std::string> short_column_names();

/// What a path leads to.
struct FoundValue {
  /// Null where the summary says nothing of it: null itself, below what is null, or a place behind the end of a list.
  /// Not owned: a part of the summary.
  const nlohmann::ordered_json* value = nullptr;
  /// The path leads nowhere: `wrong` is not among the names that stand behind `known`, which are `beside`, none where
  /// there is no object. "transport." and "ecn" of "transport.ecn".
  bool is_unknown = false;
  std::string known = {}, wrong = {};
  std::vector<std::string> beside = {};
};
/// `path` as parse_sweep_columns makes it. A name may have dots in it.
FoundValue find_value(const nlohmann::ordered_json& summary, std::string_view path);

/// A value for each column from the folder's `summary.json`: null where that says nothing of it, or cannot be read.
std::vector<nlohmann::ordered_json> read_columns(const std::vector<SweepColumn>& columns,
                                                 const std::filesystem::path& folder);
/// The folder's `summary.json`; null where it cannot be read.
nlohmann::ordered_json read_summary(const std::filesystem::path& folder);

/// For people: durations (`_ps`) with a unit, lists and objects as JSON, "-" of what is not there.
std::string column_text(const SweepColumn& column, const nlohmann::ordered_json& value);
/// Whole, empty of what is not there, and not yet quoted.
std::string column_field(const nlohmann::ordered_json& value);

}  // namespace rankwire
