// What keeps a damaged record, or one that somebody has changed, from being drawn.
#pragma once

#include <filesystem>

namespace rankwire {

/// Of every table the columns that number ranks and nodes, which readers make room for, and those that are times, which
/// they walk along and add up, and those that are counts and amounts. Throws Error(kInput), naming file, table, row and
/// column, for the first number that no run can have written. Reads each table that has such a column once. `folder`
/// holds `run.sqlite`.
void require_plausible(const std::filesystem::path& folder);

}  // namespace rankwire
