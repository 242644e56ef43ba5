// `trace shrink`.
#include <fmt/format.h>

#include <filesystem>

#include "base/new_folder.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/cli/shrink_trials.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/report/output_file.h"
#include "emulator/traces/bundle.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

std::chrono::milliseconds milliseconds_option(const char* option, const std::string& text) {
  const Duration duration = duration_option(option, text);
  if (duration <= Duration()) fail_input("{} {}: nothing could be tried", option, text);
  return std::chrono::milliseconds((duration.ps + 999'999'999) / 1'000'000'000);
}

std::string trials_csv(const std::vector<Trial>& trials) {
  std::string text = "try,pass,ranks,nodes,keys,status,shows,problem\n";
  for (size_t i = 0; i < trials.size(); ++i) {
    const Trial& trial = trials[i];
    std::string problem = trial.problem;
    for (char& c : problem) c = c == '"' || c == '\n' ? '\'' : c;
    text += fmt::format("{},{},{},{},{},{},{},\"{}\"\n", i, to_string(trial.pass), trial.ranks, trial.nodes, trial.keys,
                        trial.status ? std::to_string(*trial.status) : "", trial.shows ? 1 : 0, problem);
  }
  return text;
}

/// The files that make up the result, by their names in a bundle.
std::vector<fs::path> result_files(const std::string& prefix, uint64_t ranks, bool has_config) {
  std::vector<fs::path> files;
  for (uint64_t rank = 0; rank < ranks; ++rank) files.emplace_back(fmt::format("{}.{}.et", prefix, rank));
  if (fs::exists(prefix + ".json")) files.emplace_back(prefix + ".json");
  if (has_config) files.emplace_back(prefix + ".yaml");
  files.emplace_back(prefix + ".tries.csv");
  return files;
}

void write_bundle(const TraceShrinkRequest& request, const std::vector<fs::path>& files, const ShrinkTrials& trials) {
  Bundle bundle(request.bundle, fs::path(request.out).filename());
  for (const fs::path& file : files) bundle.add_path(file.filename(), file);
  bundle.add_path("output.txt", trials.output());
  bundle.add_path("left", trials.left());
  bundle.add_text("command.txt", request.keep + "\n");
  bundle.add_text("version.txt", "rankwire " RANKWIRE_VERSION "\n");
  bundle.close();
}

void check_is_absent(const char* option, const fs::path& file) {
  if (fs::exists(file)) fail_input("{}: {} exists already and is not overwritten", option, file.string());
}

/// What comes of an hour's search must have a place. Throws Error(kRun) when it has none.
void check_can_be_written(const TraceShrinkRequest& request) {
  const OutputFile tries(request.out + ".tries.csv");
  if (!request.bundle.empty()) const OutputFile bundle(request.bundle);
}

/// For people: whether there may be less that shows it.
const char* end_text(bool is_minimal) {
  if (is_minimal) return "nothing more can be left out alone\n";
  if (interrupt_flag()) return "interrupted, more may go\n";
  return "a limit ended the search, more may go: see --tries and --time\n";
}

/// What the command could not show, and what could not be opened. Throws Error(kInput).
void check_request(const TraceShrinkRequest& request) {
  if (request.keep.find("{}") == std::string::npos && !command_words(request.keep).empty())
    fail_input(
        "--keep: names no {{}}, in whose place the candidate stands, so that it would be the same for all of them");
  if (!request.bundle.empty() && !request.bundle.ends_with(".tar.zst"))
    fail_input("--bundle: {} is to be an archive of tar and zstd; name it FILE.tar.zst", request.bundle);
}

std::string outcome_of(const Trial& trial) {
  if (!trial.problem.empty()) return trial.problem;
  return trial.status ? fmt::format("ended with status {}", *trial.status) : "did not end in time";
}

}  // namespace

int shrink_traces(const TraceShrinkRequest& request) {
  check_request(request);
  for (const char* ending : {".0.et", ".json", ".yaml", ".tries.csv"}) check_is_absent("--out", request.out + ending);
  if (!request.bundle.empty()) check_is_absent("--bundle", request.bundle);
  const TrialOptions options{.command = command_words(request.keep),
                             .status = request.status,
                             .patience = milliseconds_option("--patience", request.patience)};
  const auto deadline = std::chrono::steady_clock::now() + milliseconds_option("--time", request.time);
  const ShrinkConfig config(request.config);
  const ReadSet read = [&] {
    const FilesStopOnSignal stops;  // reading; behind it a signal ends the search
    return read_one_set(request.inputs);
  }();
  check_prefix(request.out);
  const NewFolder folder(fs::path(request.out).parent_path());  // goes again where nothing is found
  check_can_be_written(request);
  ShrinkTrials trials(read.set, read.matches, config, options);

  std::atomic<uint64_t> tries = 0;
  const auto is_limited = [&] {
    return tries >= request.tries || interrupt_flag() || std::chrono::steady_clock::now() > deadline;
  };
  ShrinkCandidate best;
  const ShrinkQuestions questions{.keys = config.keys(),
                                  .shows =
                                      [&](ShrinkPass pass, const ShrinkCandidate& candidate) {
                                        ++tries;
                                        return trials.shows(pass, candidate);
                                      },
                                  .go_on = [&] { return !is_limited(); }};
  const bool shown = [&] {
    const Progress progress(
        "shrinking traces", request.tries, [&tries] { return tries.load(); }, "tries");
    return shrink(read.set, read.matches, questions, best);
  }();
  if (!shown && interrupt_flag()) fail_run("interrupted before it was known whether the whole set shows it");
  if (!shown) {
    fail_run("the whole set does not show it: the command {}, not with {}: {}", outcome_of(trials.list().back()),
             request.status, trials.last_words());
  }
  const bool is_minimal = !is_limited();
  write_candidate(read.set, read.matches, best, request.out);
  if (config.is_there()) write_file(request.out + ".yaml", config.text(best.keys, fs::path(request.out).filename()));
  write_file(request.out + ".tries.csv", trials_csv(trials.list()));
  const std::vector<fs::path> files = result_files(request.out, best.kept_ranks(), config.is_there());
  if (!request.bundle.empty()) write_bundle(request, files, trials);

  const Trial& first = trials.list().front();
  if (request.inputs.form == OutputForm::kJson) {
    print_json({{"prefix", request.out},
                {"ranks", best.kept_ranks()},
                {"nodes", best.kept_nodes()},
                {"keys", best.kept_keys()},
                {"of_ranks", first.ranks},
                {"of_nodes", first.nodes},
                {"of_keys", first.keys},
                {"tries", trials.list().size()},
                {"minimal", is_minimal},
                {"interrupted", interrupt_flag().load()}});
    return 0;
  }
  fmt::print("{} of {} ranks, {} of {} nodes, {} of {} keys still show it, after {} tries: {}.<rank>.et\n",
             best.kept_ranks(), first.ranks, best.kept_nodes(), first.nodes, best.kept_keys(), first.keys,
             trials.list().size(), request.out);
  fmt::print("{}", end_text(is_minimal));
  return 0;
}

}  // namespace rankwire
