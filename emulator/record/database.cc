#include "emulator/record/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/printable.h"
#include "base/utf8.h"

namespace rankwire {
namespace {

/// A file that cannot grow is "full" to SQLite or, where it is one of those beside the database, an I/O error.
bool is_out_of_space(int status, sqlite3* database) {
  return (status & 0xFF) == SQLITE_FULL ||
         ((status & 0xFF) == SQLITE_IOERR && sqlite3_system_errno(database) == ENOSPC);
}

void check(int status, sqlite3* database) {
  if (status == SQLITE_OK) return;
  const ErrorKind kind = sqlite3_db_readonly(database, "main") == 1 ? ErrorKind::kInput : ErrorKind::kRun;
  const std::string why = sqlite3_errmsg(database);
  throw Error(kind, fmt::format("{}: {}", sqlite3_db_filename(database, "main"),
                                is_out_of_space(status, database)
                                    ? fmt::format("cannot be written: {} ({})", std::strerror(ENOSPC), why)
                                    : why));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement,
                           nullptr),
        database);
  statement_.reset(statement);
}

void Statement::bind_one(int index, std::nullopt_t) {
  check(sqlite3_bind_null(statement_.get(), index + 1), sqlite3_db_handle(statement_.get()));
}

void Statement::bind_one(int index, int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), index + 1, value), sqlite3_db_handle(statement_.get()));
}

void Statement::bind_one(int index, double value) {
  check(sqlite3_bind_double(statement_.get(), index + 1, value), sqlite3_db_handle(statement_.get()));
}

void Statement::bind_one(int index, std::string_view value) {
  // A null pointer would bind NULL instead of an empty text.
  const char* text = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(statement_.get(), index + 1, text, value.size(), SQLITE_STATIC, SQLITE_UTF8),
        sqlite3_db_handle(statement_.get()));
}

void Statement::execute() {
  while (step()) {
  }
}

bool Statement::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  // `reset` returns the status of the step before it.
  check(sqlite3_reset(statement_.get()), sqlite3_db_handle(statement_.get()));
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text_view(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string Statement::text(int column) const {
  const std::string_view text = text_view(column);
  return is_utf8(text) ? std::string(text) : with_valid_utf8(text);
}

std::optional<int64_t> Statement::optional_integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return integer(column);
}

void Database::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Database::Database(const std::filesystem::path& file, Access access) {
  const int flags = access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* connection = nullptr;
  const int status = sqlite3_open_v2(file.c_str(), &connection, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  if (status != SQLITE_OK) {
    const ErrorKind kind = access == Access::kRead ? ErrorKind::kInput : ErrorKind::kRun;
    throw Error(kind, fmt::format("{}: cannot open: {}", file.string(), sqlite3_errstr(status)));
  }
  // A reader waits for the moment in which a recorder at work moves its log into the file.
  sqlite3_busy_timeout(connection, 5000);
}

void Database::execute(const std::string& sql) {
  check(sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr), connection_.get());
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(connection_.get()) == 0;
}

int64_t Database::integer(std::string_view sql) const {
  Statement statement = prepare(sql);
  if (!statement.step()) fail_input("no row for '{}'", sql);
  return statement.integer(0);
}

int64_t Database::last_row() const {
  return sqlite3_last_insert_rowid(connection_.get());
}

// By SQLite's own descriptor: if another one were closed the process would lose its locks on the file.
void Database::read(uint64_t offset, std::span<uint8_t> bytes) const {
  sqlite3_file* file = nullptr;
  int status = sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (status == SQLITE_OK)
    status = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), static_cast<int64_t>(offset));
  if (status != SQLITE_OK)
    fail_input("{}: cannot read: {}", sqlite3_db_filename(connection_.get(), "main"), sqlite3_errstr(status));
}

}  // namespace rankwire
