#include "emulator/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace rankwire {
namespace {

/// In single quotes of a POSIX shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : c == '\n' ? " " : std::string(1, c);
  return out + "'";
}

/// In single quotes of fish, where a backslash escapes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

void for_each_verb(const VerbModel& verb, const std::function<void(const VerbModel&)>& visit) {
  visit(verb);
  for (const VerbModel& inner : verb.verbs) for_each_verb(inner, visit);
}

std::string last_word(const std::string& name) {
  return name.substr(name.rfind(' ') + 1);
}

/// The words that may follow: verbs beneath this one, and options.
std::string words_of(const VerbModel& verb) {
  std::vector<std::string> words;
  for (const VerbModel& inner : verb.verbs) words.push_back(last_word(inner.name));
  for (const OptionModel& option : verb.options)
    if (!option.is_positional) words.insert(words.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(words, " "));
}

/// A line of a `case` for each verb that has options with values.
std::string value_cases(const VerbModel& program) {
  std::string text;
  for_each_verb(program, [&](const VerbModel& verb) {
    for (const OptionModel& option : verb.options) {
      if (option.is_positional || option.value.empty()) continue;
      for (const std::string& name : option.names)
        text +=
            fmt::format("    {}) values={} ;;\n", shell_quoted(verb.name + " " + name),
                        option.choices.empty() ? "@" : shell_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    }
    for (const OptionModel& option : verb.options)
      if (option.is_positional && !option.choices.empty())
        text += fmt::format("    {}) choices={} ;;\n", shell_quoted(verb.name + " ="),
                            shell_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  });
  return text;
}

std::string verb_cases(const VerbModel& program) {
  std::string text;
  for_each_verb(program, [&](const VerbModel& verb) {
    text += fmt::format("    {}) words={} ;;\n", shell_quoted(verb.name), shell_quoted(words_of(verb)));
  });
  return text;
}

std::string path_cases(const VerbModel& program) {
  std::string text;
  for_each_verb(program, [&](const VerbModel& verb) {
    if (!verb.name.empty()) text += fmt::format("{}{}", text.empty() ? "" : "|", shell_quoted(verb.name));
  });
  return text;
}

/// What bash and zsh share: functions that say which words may stand where.
std::string posix_tables(const VerbModel& program) {
  return fmt::format(R"(# words: what may follow the verb $1.
_rankwire_words() {{
  words=
  case "$1" in
{}  esac
}}
# values: of the option $2 of the verb $1: '@' anything, empty: it takes none. choices: of the arguments of the verb.
_rankwire_values() {{
  values= choices=
  case "$1 $2" in
{}  esac
}}
_rankwire_is_verb() {{
  case "$1" in {}) return 0 ;; esac
  return 1
}}
)",
                     verb_cases(program), value_cases(program), path_cases(program));
}

std::string bash_script(const VerbModel& program) {
  return "# bash completion of rankwire: source <(rankwire completion bash)\n" + posix_tables(program) +
         R"(_rankwire() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb= words values choices i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    _rankwire_is_verb "${verb:+$verb }${COMP_WORDS[i]}" && verb="${verb:+$verb }${COMP_WORDS[i]}"
  done
  _rankwire_values "$verb" "$previous"
  if [[ -n $values ]]; then
    if [[ $values == @ ]]; then COMPREPLY=($(compgen -f -- "$current")); else COMPREPLY=($(compgen -W "$values" -- "$current")); fi
    return
  fi
  _rankwire_words "$verb"
  _rankwire_values "$verb" =
  COMPREPLY=($(compgen -W "$words $choices" -- "$current"))
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _rankwire rankwire
)";
}

std::string zsh_script(const VerbModel& program) {
  return "#compdef rankwire\n# zsh completion of rankwire: rankwire completion zsh > \"${fpath[1]}/_rankwire\"\n" +
         posix_tables(program) +
         R"(_rankwire() {
  local verb= words_typed=("${words[@]}") values choices i
  for ((i = 2; i < CURRENT; i++)); do
    _rankwire_is_verb "${verb:+$verb }${words_typed[i]}" && verb="${verb:+$verb }${words_typed[i]}"
  done
  local previous=${words_typed[CURRENT-1]}
  () {
    local words
    _rankwire_values "$verb" "$previous"
    if [[ -n $values ]]; then
      if [[ $values == @ ]]; then _files; else compadd -- ${=values}; fi
      return
    fi
    _rankwire_words "$verb"
    _rankwire_values "$verb" =
    compadd -- ${=words} ${=choices}
    _files
  }
}
# The first time, zsh has this file as the body of the function that is to complete.
if [[ ${funcstack[1]} == _rankwire ]]; then _rankwire "$@"; else compdef _rankwire rankwire; fi
)";
}

/// Where a verb is what is being typed, and no verb beneath it yet.
std::string fish_condition(const VerbModel& verb) {
  if (verb.name.empty()) return "__fish_use_subcommand";
  std::string condition;
  std::string_view rest = verb.name;
  while (!rest.empty()) {
    const size_t space = std::min(rest.find(' '), rest.size());
    condition +=
        fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  if (verb.verbs.empty()) return condition;
  std::vector<std::string> inner;
  for (const VerbModel& each : verb.verbs) inner.push_back(last_word(each.name));
  return condition + fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(inner, " "));
}

std::string fish_script(const VerbModel& program) {
  std::string text = "# fish completion of rankwire: rankwire completion fish | source\n";
  for_each_verb(program, [&](const VerbModel& verb) {
    const std::string where = fish_quoted(fish_condition(verb));
    for (const VerbModel& inner : verb.verbs)
      text += fmt::format("complete -c rankwire -f -n {} -a {} -d {}\n", where, last_word(inner.name),
                          fish_quoted(inner.description));
    for (const OptionModel& option : verb.options) {
      std::string line = fmt::format("complete -c rankwire -n {}", where);
      const std::string choices = fish_quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      if (option.is_positional) {
        if (!option.choices.empty()) text += fmt::format("{} -f -a {}\n", line, choices);
        continue;
      }
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty()) line += option.choices.empty() ? " -r" : " -x -a " + choices;
      text += fmt::format("{} -d {}\n", line, fish_quoted(option.description));
    }
  });
  return text;
}

}  // namespace

std::string completion_script(const VerbModel& program, const std::string& shell) {
  return shell == "bash" ? bash_script(program) : shell == "zsh" ? zsh_script(program) : fish_script(program);
}

void add_completion_verbs(CLI::App& app, std::string& shell) {
  CLI::App& completion = *app.add_subcommand("completion", "a script by which a shell completes verbs and options");
  completion.add_option("SHELL", shell, "whose")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion.footer(
      "Example: rankwire completion bash > /etc/bash_completion.d/rankwire\n"
      "     or: source <(rankwire completion bash)");
  completion.callback([&app, &shell] { fmt::print("{}", completion_script(verb_model(app), shell)); });
  CLI::App& manual = *app.add_subcommand("man", "the manual page, rankwire.1");
  manual.footer("Example: rankwire man > rankwire.1");
  manual.callback([&app] { fmt::print("{}", manual_page(verb_model(app), RANKWIRE_VERSION)); });
}

}  // namespace rankwire
