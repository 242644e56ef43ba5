#include "emulator/hooks/hook.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "emulator/hooks/hook_process.h"

namespace rankwire {
namespace {

constexpr size_t kMostQuoted = 300;

}  // namespace

std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) fail_input("command '{}': the quotation mark {} has no other end", text, quote);
  if (words.empty() || words[0].empty()) fail_input("command '{}': names no program", text);
  return words;
}

std::string words_of_hook(std::string_view printed) {
  std::string tail(printed.substr(printed.size() - std::min(printed.size(), kMostQuoted)));
  if (tail.size() < printed.size()) tail.insert(0, "... ");
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  for (char& c : tail)
    if (c == '\n') c = ' ';
  return tail.empty() ? "it wrote nothing" : "it wrote: " + tail;
}

std::string run_hook(std::string_view what, const std::string& command, std::chrono::milliseconds patience,
                     const std::atomic<bool>& interrupted) {
  constexpr std::chrono::milliseconds kSlice{10};
  HookProcess hook(what, split_command(command));
  const auto end = std::chrono::steady_clock::now() + patience;
  std::optional<int> status;
  while (!status && !hook.prints_too_much() && std::chrono::steady_clock::now() < end && !interrupted)
    status = hook.listen(kSlice);
  const std::string words = words_of_hook(hook.complained + hook.said);
  if (hook.prints_too_much()) fail_run("{}: '{}' printed more than 1 MiB", what, command);
  if (!status && interrupted) fail_run("{}: '{}' was ended by an interrupt; {}", what, command, words);
  if (!status)
    fail_run("{}: '{}' did not end within {:.3g} s; {}", what, command, static_cast<double>(patience.count()) / 1000,
             words);
  if (*status != 0) fail_run("{}: '{}' ended with status {}; {}", what, command, *status, words);
  return std::move(hook.said);
}

}  // namespace rankwire
