// Files that a person names to be read.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace rankwire {

/// Throws Error(kInput) where `file` is there and no file: "x.csv: is a named pipe, not a table of sizes". A named pipe
/// would wait for a writer that may never come, and a device may never end. Taken are pipes without a name, as of
/// `<(command)` and of /dev/stdin behind one, which their writer has opened, terminals, and /dev/null.
/// `what`: with its article, what the file should be.
void require_file(const std::filesystem::path& file, std::string_view what);

/// `file` to be read from its beginning. Throws Error(kInput) as `require_file` does, and with the system's reason
/// where it cannot be opened.
std::ifstream open_input(const std::filesystem::path& file, std::string_view what);

}  // namespace rankwire
