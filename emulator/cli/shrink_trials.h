// What `trace shrink` asks: does a command still show something of a candidate?
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "emulator/cli/scratch_folder.h"
#include "emulator/cli/shrink_config.h"
#include "emulator/traces/shrink.h"

namespace rankwire {

/// The words of a command as a shell takes them apart, but for expansions: blanks separate, '...' and "..." hold
/// together, \ takes the next character as it is (not within '...'). Throws Error(kInput) when a quote is not closed or
/// there are no words.
std::vector<std::string> command_words(const std::string& command);

struct TrialOptions {
  std::vector<std::string> command;  ///< in whose words `{}` and `{folder}` are replaced
  int status = 0;                    ///< of a command that still shows it
  std::chrono::milliseconds patience{};
};

/// A command that was run.
struct Trial {
  ShrinkPass pass = ShrinkPass::kWhole;
  uint64_t ranks = 0, nodes = 0, keys = 0;
  std::optional<int> status;  ///< absent: it was killed when its time was over, or was not begun
  std::string problem;        ///< why it was not begun, or ""
  bool shows = false;
};

/// Runs the command on candidates, each in a folder of its own. Of the last that showed it, folder and output stay.
class ShrinkTrials {
 public:
  ShrinkTrials(const RankSet& set, const Matches& matches, const ShrinkConfig& config, TrialOptions options)
      : set_(set), matches_(matches), config_(config), options_(std::move(options)) {}

  /// Writes t.<rank>.et, t.json and, with a configuration, config.yaml, which `{}` then is, else the prefix t;
  /// `{folder}` is an empty folder for what the command leaves.
  bool shows(ShrinkPass pass, const ShrinkCandidate& candidate);

  const std::vector<Trial>& list() const { return list_; }
  /// Of the last candidate that showed it: what the command left, and its output.
  std::filesystem::path left() const { return best() / "left"; }
  std::filesystem::path output() const { return best() / "output.txt"; }
  /// The last line that the last command wrote.
  std::string last_words() const;

 private:
  std::filesystem::path best() const { return scratch_.path() / "best"; }
  void carry_out(Trial& trial, const ShrinkCandidate& candidate, const std::filesystem::path& folder) const;

  const RankSet& set_;
  const Matches& matches_;
  const ShrinkConfig& config_;
  const TrialOptions options_;
  ScratchFolder scratch_;
  std::vector<Trial> list_;
};

}  // namespace rankwire
