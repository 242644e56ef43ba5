// Rows of a table as they stand in the file of a database, for who wants all of many millions: by a statement each of
// them takes some ten times as long.
//
// Source: "Database File Format", sqlite.org/fileformat2.html, sections 1.6 (pages of B-trees), 2.1 (records) and 2.4
// (tables without rowid), which SQLite promises to keep.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// One row, during the call that shows it. Columns count from 0, in the order of the file.
class PageRow {
 public:
  static constexpr size_t kMostColumns = 16;  ///< those behind are not there

  /// False where the bytes are no record.
  bool parse(std::span<const uint8_t> payload) noexcept;
  /// 0 where it is no integer, or not there.
  int64_t integer(size_t column) const noexcept { return optional_integer(column).value_or(0); }
  std::optional<int64_t> optional_integer(size_t column) const noexcept;
  /// Empty where it is no text.
  std::string_view text(size_t column) const noexcept;

 private:
  std::span<const uint8_t> payload_;
  size_t columns_ = 0;
  std::array<uint64_t, kMostColumns> types_;
  std::array<size_t, kMostColumns> offsets_;
};

/// The rows of a table of integers and texts, none of which is its rowid.
class TablePages {
 public:
  /// Absent where only SQLite knows the rows: while their log stands beside the file, as of a run at work or one that
  /// was killed. Throws Error(kInput), as all of its functions, where there is no such table, and for a file that
  /// cannot be read or is damaged.
  static std::optional<TablePages> open(const std::filesystem::path& file, const std::string& table);

  /// Where in a row the column is; absent: rows do not have it.
  std::optional<size_t> column(std::string_view name) const;
  /// The table in parts, mostly as large as one another, in the order of their rows.
  size_t parts() const { return parts_.size(); }
  /// Visits the rows of parts first .. last - 1 in their order. Several threads may call it at a time; each reads the
  /// file by a connection of its own, which keeps writers out meanwhile.
  void for_each_row(size_t first, size_t last, const std::function<void(const PageRow&)>& visit) const;

 private:
  class File;
  class Page;
  class Payload;

  /// All rows of a leaf, or one that stands between leaves.
  struct Part {
    uint32_t page = 0;
    std::optional<uint32_t> cell = {};
  };

  TablePages() = default;
  void collect(File& file, uint32_t page, uint32_t depth);

  std::filesystem::path file_;
  std::vector<std::string> columns_;
  std::vector<Part> parts_;
};

}  // namespace rankwire
