// Programs of the machine that do a part of the work.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rankwire {

/// Runs the program `command[0]`, which is looked for in PATH, and waits for its end; one that takes longer than
/// `patience` is killed. Returns what went wrong, or "". Standard output and error are those of this process.
std::string run_program(const std::vector<std::string>& command, std::chrono::milliseconds patience);

}  // namespace rankwire
