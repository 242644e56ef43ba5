#include "emulator/cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/cli/verb_names.h"

namespace rankwire {
namespace {

/// The argument that CLI11's text begins with, "--jobs: ..." or "Could not convert: --jobs = x"; null where there is
/// none.
const CLI::Option* named(const CLI::App& verb, std::string_view text, std::string_view end) {
  return verb.get_option_no_throw(std::string(text.substr(0, text.find(end))));
}

/// "TEXT", "UINT:NUMBER > 0" in words.
std::string wanted_by(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.empty()) return "no value";
  if (type.starts_with("UINT")) return "a whole number, 0 or more";
  if (type.starts_with("INT")) return "a whole number";
  if (type.starts_with("FLOAT")) return "a number";
  return "a value";
}

std::string conversion_text(const CLI::App& verb, const std::string& text) {
  constexpr std::string_view kFront = "Could not convert: ", kIs = " = ";
  const size_t is = text.find(kIs);
  if (!text.starts_with(kFront) || is == std::string::npos) return text;
  const std::string rest = text.substr(kFront.size());
  const CLI::Option* const option = named(verb, rest, kIs);
  if (option == nullptr) return text;
  return fmt::format("{}: takes {}, not '{}'", option->get_name(), wanted_by(*option), text.substr(is + kIs.size()));
}

std::string mismatch_text(const CLI::App& verb, const std::string& text) {
  const CLI::Option* const option = named(verb, text, ":");
  if (option == nullptr) return text;
  if (text.ends_with(" missing")) return fmt::format("{}: {} is missing", option->get_name(), wanted_by(*option));
  if (option->get_expected_max() == 1 && option->count() > 1)
    return fmt::format("{}: takes {}, and is given {} times", option->get_name(), wanted_by(*option), option->count());
  return text;
}

/// "a verb is required: one of list, plan, run"
std::string missing_verb(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* inner : verb.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(inner->get_name());
  return fmt::format("a verb is required: one of {}", fmt::join(names, ", "));
}

std::string text_of(const CLI::App& verb, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return conversion_text(verb, text);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatch_text(verb, text);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && verb.get_require_subcommand_min() > 0)
    return missing_verb(verb);
  return text;
}

}  // namespace

void fail_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) require_known_options(app);
  const CLI::App& verb = called_verb(app);
  fail_input("{}; '{} --help' says what it takes", text_of(verb, error), full_name(verb));
}

}  // namespace rankwire
