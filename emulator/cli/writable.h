// Whether a file can be written, before work begins whose result is to stand there.
#pragma once

#include <filesystem>

namespace rankwire {

/// Throws Error(kInput), naming the file and why, where OutputFile could not write it. Leaves no trace.
void require_writable(const std::filesystem::path& file);

}  // namespace rankwire
