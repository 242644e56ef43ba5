// Which file is which rank's trace.
#pragma once

#include <string>
#include <vector>

namespace rankwire {

/// The files by rank. Several names are the ranks' files in order; one name is a file if there is one of that name, and
/// otherwise a prefix P that stands for P.<rank>.et, or .eg or .json, each also with .gz or .zst behind it; ranks are
/// 0, 1, ... without a gap. (What a file holds is told by its content.) Throws Error(kInput) when a file is missing, or
/// a rank has several.
std::vector<std::string> find_trace_files(const std::vector<std::string>& traces);

}  // namespace rankwire
