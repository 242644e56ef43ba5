// SQLite as move-only values: a connection and its prepared statements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rankwire {

/// A prepared statement. Parameters and columns count from 0. A failure throws Error with the file's name and SQLite's
/// text, kInput on a connection for reading and kRun on one for writing. The database must outlive the statement.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);

  /// Binds the arguments in order, from the first parameter on; nullopt binds NULL. Texts are borrowed for as long as
  /// the statement may be stepped with them.
  template <class... Args>
  Statement& bind(const Args&... args) {
    int index = 0;
    (bind_one(index++, args), ...);
    return *this;
  }
  /// Runs a statement that returns no rows, and makes it ready for the next `bind`.
  void execute();
  /// Steps to the next row; false, and ready for the next `bind`, when there is none.
  bool step();
  void reset();

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  ///< in UTF-8: bytes of no character are replaced
  /// As it stands in the file, in UTF-8 or not. Valid until the next step.
  std::string_view text_view(int column) const;
  /// Empty where the column is NULL.
  std::optional<int64_t> optional_integer(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void bind_one(int index, std::nullopt_t);
  void bind_one(int index, int64_t value);
  void bind_one(int index, uint64_t value) { bind_one(index, static_cast<int64_t>(value)); }
  void bind_one(int index, uint32_t value) { bind_one(index, int64_t{value}); }
  void bind_one(int index, int value) { bind_one(index, int64_t{value}); }
  void bind_one(int index, Duration value) { bind_one(index, value.ps); }
  void bind_one(int index, double value);
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }
  template <class T>
  void bind_one(int index, const std::optional<T>& value) {
    if (value) {
      bind_one(index, *value);
    } else {
      bind_one(index, std::nullopt);
    }
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection, used by one thread at a time.
class Database {
 public:
  enum class Access { kCreate, kRead };

  /// Throws Error as a statement does when the file cannot be opened.
  Database(const std::filesystem::path& file, Access access);

  /// Runs statements separated by semicolons and ignores their rows.
  void execute(const std::string& sql);
  Statement prepare(std::string_view sql) const { return Statement(connection_.get(), sql); }
  /// Whether one was begun and has not ended, as it does also when the disk is full.
  bool in_transaction() const;
  /// The first column of the first row of a query that has one.
  int64_t integer(std::string_view sql) const;
  int64_t last_row() const;
  /// Bytes of the file from `offset` on, as they stand there.
  void read(uint64_t offset, std::span<uint8_t> bytes) const;

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace rankwire
