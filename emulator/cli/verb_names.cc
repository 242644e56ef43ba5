#include "emulator/cli/verb_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/input/nearest_key.h"

namespace rankwire {
namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// "trace check" of the verb `check` beneath `trace`, "" of the program.
std::string called(const CLI::App& verb) {
  if (verb.get_parent() == nullptr) return {};
  const std::string outer = called(*verb.get_parent());
  return outer.empty() ? verb.get_name() : outer + " " + verb.get_name();
}

const CLI::App* beneath(const CLI::App& app, std::string_view name) {
  for (const CLI::App* verb : verbs_of(app)) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

/// A verb of this name anywhere beneath `app`.
const CLI::App* anywhere(const CLI::App& app, std::string_view name) {
  if (const CLI::App* verb = beneath(app, name)) return verb;
  for (const CLI::App* verb : verbs_of(app)) {
    if (const CLI::App* found = anywhere(*verb, name)) return found;
  }
  return nullptr;
}

bool has_option(const CLI::App& verb, const std::string& name) {
  return std::ranges::any_of(verb.get_options(), [&](const CLI::Option* option) { return option->check_lname(name); });
}

/// What was probably meant by `word` where a verb beneath `outer` should stand; "" where nothing is near.
std::string meant(const CLI::App& app, const CLI::App& outer, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(outer)) names.push_back(called(*verb));
  const std::string prefix = &outer == &app ? "" : called(outer) + " ";
  if (const std::string near = nearest_name(prefix + word, names, prefix.size()); !near.empty()) return near;
  if (const CLI::App* verb = anywhere(app, word)) return called(*verb);
  for (const CLI::App* verb : verbs_of(outer)) {
    if (has_option(*verb, word)) return fmt::format("{} --{}", called(*verb), word);
  }
  return {};
}

[[noreturn]] void fail_unknown_verb(const CLI::App& app, const CLI::App& outer, const std::string& word) {
  const std::string kind = &outer == &app ? "" : called(outer) + " ";
  if (const std::string other = meant(app, outer, word); !other.empty())
    fail_input("there is no {}verb '{}'; did you mean 'rankwire {}'?", kind, word, other);
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(outer)) names.push_back(verb->get_name());
  fail_input("there is no {}verb '{}'; there are {}", kind, word, fmt::join(names, ", "));
}

/// "--name" of "--name=value".
std::string option_name(const std::string& word) {
  return word.substr(0, word.find('='));
}

[[noreturn]] void fail_unknown_option(const CLI::App& verb, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  }
  const std::string whose = full_name(verb);
  const std::string near = nearest_name(name, names, 2);
  if (near.empty()) fail_input("{} has no option '{}'; its --help lists them", whose, name);
  fail_input("{} has no option '{}'; did you mean '{}'?", whose, name, near);
}

}  // namespace

std::string full_name(const CLI::App& verb) {
  const std::string name = called(verb);
  return name.empty() ? "rankwire" : "rankwire " + name;
}

const CLI::App& called_verb(const CLI::App& app) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return *verb;
}

void require_known_verbs(const CLI::App& app, std::span<const char* const> arguments) {
  const CLI::App* outer = &app;
  for (const std::string word : arguments) {
    if (verbs_of(*outer).empty()) return;
    if (word.starts_with("--") && word.size() > 2 && !has_option(*outer, option_name(word).substr(2)))
      fail_unknown_option(*outer, option_name(word));
    if (word.starts_with('-')) return;
    const CLI::App* verb = beneath(*outer, word);
    if (verb == nullptr) fail_unknown_verb(app, *outer, word);
    outer = verb;
  }
}

void require_known_options(const CLI::App& app) {
  for (const std::string& word : app.remaining(true)) {
    if (word.starts_with("--") && word.size() > 2) fail_unknown_option(called_verb(app), option_name(word));
  }
}

}  // namespace rankwire
