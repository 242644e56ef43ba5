// `serve`: the Open Traffic Generator API.
#pragma once

#include <CLI/CLI.hpp>

#include "emulator/serve/serve_options.h"

namespace rankwire {

/// Becomes the program rankwire-serve beside this one. Returns only by throwing Error.
[[noreturn]] void become_server(const ServeOptions& options);

/// `options` outlives the parsing.
void add_serve_verb(CLI::App& app, ServeOptions& options);

}  // namespace rankwire
