// Measured times of kernels, from a table in a file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/id.h"
#include "emulator/simulator/kernel_times.h"

namespace rankwire {

/// Reads comma-separated values (RFC 4180, without line breaks in fields; lines that begin with # and empty ones do not
/// count). The first line names the columns, in any order: `pattern`, and of `ranks`, `group`, `duration`,
/// `ps_per_flop`, `ps_per_byte` those that are used; docs/compute.md describes them. `members_of` gives the ranks of a
/// process group, ascending; empty: there is none of that name.
///
/// Throws Error(kInput) with file and line for anything else.
std::vector<KernelRow> read_kernel_table(const std::filesystem::path& file,
                                         const std::function<std::vector<RankId>(const std::string&)>& members_of);

}  // namespace rankwire
