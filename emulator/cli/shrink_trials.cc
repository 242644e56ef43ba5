#include "emulator/cli/shrink_trials.h"

#include <fstream>
#include <thread>

#include "base/child_process.h"
#include "emulator/cli/interrupt.h"
#include "emulator/report/output_file.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

std::vector<std::string> command_words(const std::string& command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && is_blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && at + 1 < command.size()) {
      words.back() += command[++at];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) fail_input("--keep: a quote {} is not closed", quote);
  if (words.empty()) fail_input("--keep: there is no command");
  return words;
}

bool ShrinkTrials::shows(ShrinkPass pass, const ShrinkCandidate& candidate) {
  const fs::path folder = scratch_.path() / "try";
  fs::remove_all(folder);
  fs::create_directories(folder / "left");
  Trial trial{
      .pass = pass, .ranks = candidate.kept_ranks(), .nodes = candidate.kept_nodes(), .keys = candidate.kept_keys()};
  try {
    carry_out(trial, candidate, folder);
  } catch (const Error& error) {
    // What cannot be written, such as a part in which nothing is left, does not show it; a full disk ends the search.
    if (error.kind() == ErrorKind::kRun) throw;
    trial.problem = error.what();
  }
  trial.shows = trial.status == options_.status;
  list_.push_back(trial);
  if (!trial.shows) return false;
  fs::remove_all(best());
  fs::rename(folder, best());
  return true;
}

void ShrinkTrials::carry_out(Trial& trial, const ShrinkCandidate& candidate, const fs::path& folder) const {
  const std::string prefix = folder / "t";
  write_candidate(set_, matches_, candidate, prefix);
  const fs::path config = folder / "config.yaml";
  if (config_.is_there()) write_file(config, config_.text(candidate.keys, prefix));
  std::vector<std::string> command = options_.command;
  for (std::string& word : command) {
    word = replaced(word, "{folder}", folder / "left");
    word = replaced(word, "{}", config_.is_there() ? config.string() : prefix);
  }
  ChildProcess child(command, folder / "output.txt");
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  while (!(trial.status = child.status())) {
    if (interrupt_flag() || std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string ShrinkTrials::last_words() const {
  const fs::path tried = scratch_.path() / "try" / "output.txt";
  std::ifstream file(fs::exists(tried) ? tried : output());
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace rankwire
