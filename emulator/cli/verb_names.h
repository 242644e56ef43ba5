// What a misspelt verb or option was meant to be.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace rankwire {

/// `arguments` are those after the program's name. Throws Error(kInput) when a verb of `app` should stand where another
/// word does: names the verb, or the option of one, that was probably meant, or all verbs. Options in front of a verb
/// must be known as well.
void require_known_verbs(const CLI::App& app, std::span<const char* const> arguments);

/// Throws Error(kInput) when an option was given that the verb called last does not have: names the nearest one. To be
/// called after `app` has met arguments that it did not expect.
void require_known_options(const CLI::App& app);

}  // namespace rankwire
