// Distributions of message sizes in files.
#pragma once

#include <filesystem>
#include <vector>

#include "base/size_distribution.h"

namespace rankwire {

/// Reads comma-separated values: a first line `bytes,cumulative`, then points that rise in both columns, whole bytes
/// below 2^31 and the part of all messages that are not larger, 0 .. 1 with at most nine decimals; the last one is 1.
/// Lines that begin with # and empty ones do not count. Throws Error(kInput) with file and line for anything else.
std::vector<SizePoint> read_size_table(const std::filesystem::path& file);

}  // namespace rankwire
