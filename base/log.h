// Progress and warnings for a person at a terminal; only `cli` writes here. Standard error, one line each.
#pragma once

#include <string_view>

namespace rankwire {

enum class Verbosity { kQuiet, kNormal };

/// Call once at start, before any thread is made.
void configure_log(Verbosity verbosity);
Verbosity log_verbosity();
void log_warning(std::string_view text);
void log_error(std::string_view text);
/// What somebody has asked for: also when quiet, and without a level.
void log_answer(std::string_view text);

}  // namespace rankwire
