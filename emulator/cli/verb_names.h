// Verbs by name, and what a misspelt verb or option was meant to be.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace rankwire {

/// "rankwire trace check" of the verb `check` beneath `trace`, "rankwire" of the program.
std::string full_name(const CLI::App& verb);

/// The verb that `app` has met last; itself where it has met none.
const CLI::App& called_verb(const CLI::App& app);

/// `arguments` are those after the program's name. Throws Error(kInput) when a verb of `app` should stand where another
/// word does: names the verb, or the option of one, that was probably meant, or all verbs. Options in front of a verb
/// must be known as well.
void require_known_verbs(const CLI::App& app, std::span<const char* const> arguments);

/// Throws Error(kInput) when an option was given that the verb called last does not have: names the nearest one. To be
/// called after `app` has met arguments that it did not expect.
void require_known_options(const CLI::App& app);

}  // namespace rankwire
