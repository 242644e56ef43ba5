// Commands that a lab names: what pulls a cable or reads a device's counters.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// The words of a command line: separated by blanks, with '...', "..." and \ as in a shell, and nothing else: no
/// variables, no patterns, no pipes. Throws Error(kInput) for a quotation mark without its other end and for an empty
/// command.
std::vector<std::string> split_command(std::string_view text);

/// "it wrote: ..." with the end of what a command printed in one line, or "it wrote nothing".
std::string words_of_hook(std::string_view printed);

/// Runs it without a shell, with an empty standard input, and returns what it had printed when it ended, at most 1 MiB.
/// A child that it leaves behind is not waited for, though it may hold its output. What it writes to standard error is
/// part of the message of errors. Throws Error(kRun) naming `what` when it cannot be started, ends with another status
/// than 0, prints more, takes longer than `patience`, or `interrupted` becomes true; it is killed then, with its
/// children that are still in its process group.
std::string run_hook(std::string_view what, const std::string& command, std::chrono::milliseconds patience,
                     const std::atomic<bool>& interrupted);

}  // namespace rankwire
