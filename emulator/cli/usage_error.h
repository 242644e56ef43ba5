// What a person is told of a command line that is none.
#pragma once

#include <CLI/CLI.hpp>

namespace rankwire {

/// Throws Error(kInput) for what `app` found wrong with its arguments: one line, which names the argument, says what is
/// wrong with it, and which verb's help has what would be right.
[[noreturn]] void fail_usage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace rankwire
