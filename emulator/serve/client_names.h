// Names that clients give and that become names of files.
#pragma once

#include <string>

namespace rankwire {

/// Whether it can be a file of a run: letters, digits, '.', '_' and '-', not beginning with '.', at most 128 of them.
bool is_file_name(const std::string& name);
/// Whether it is a SHA-256 in 64 small hexadecimal digits.
bool is_digest(const std::string& text);

}  // namespace rankwire
