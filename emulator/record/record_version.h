// Records of other versions of the program: which of them are read, and what they lack.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "emulator/record/database.h"

namespace rankwire {

/// Throws Error(kInput) unless `database`, which is that of `file`, is of the version that this program reads and no
/// table in it lacks a column that cannot be done without.
void require_known_version(const Database& database, const std::filesystem::path& file);

/// What a user is told of a record that lacks tables or columns which records have today: its program's version, and
/// these, "shared_links", "nodes.tag". Empty where it has all; every record has what its program knew, whatever
/// happened in the run.
std::string absence_text(const Database& database);

/// `column`, or `otherwise` where the table has none: an expression that stands for it in a query.
std::string column_or(const Database& database, std::string_view table, std::string_view column,
                      std::string_view otherwise);

}  // namespace rankwire
