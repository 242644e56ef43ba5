#include "emulator/cli/gating.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/cli/writable.h"
#include "emulator/report/output_file.h"
#include "emulator/suite/gate_words.h"
#include "emulator/suite/junit.h"

namespace rankwire {

CLI::Option* add_gate_options(CLI::App& verb, GateRequest& request) {
  CLI::Option* gate = verb.add_option("--gate", request.files,
                                      "FILE of lines such as 'ratio <= 1.10' (docs/ci.md): exit 1 where one "
                                      "is broken, 3 where one cannot be told; repeatable");
  gate->allow_extra_args(false);
  verb.add_option("--junit", request.junit, "FILE for verdict, limits and gates as JUnit XML");
  return gate;
}

namespace {

namespace fs = std::filesystem;

/// Throws Error(kInput) where the JUnit file would replace a file of gates, or one of a run: of that in `folder`, or
/// one that is recorded.
void require_own_place(const GateRequest& request, const fs::path& folder) {
  std::error_code unknown;
  for (const std::string& gates : request.files)
    if (fs::equivalent(request.junit, gates, unknown))
      fail_input("--junit {}: is the file of --gate; another one is expected", request.junit.string());
  const auto place_of = [&](const fs::path& path) {
    return fs::weakly_canonical(fs::absolute(path, unknown), unknown);
  };
  const fs::path file = place_of(request.junit), own = place_of(folder);
  for (fs::path run = file.parent_path(); run.has_relative_path(); run = run.parent_path()) {
    if (run != own && !fs::exists(run / "run.sqlite", unknown)) continue;
    const fs::path of_run = file.lexically_relative(run);
    if (is_run_file(of_run))
      fail_input("--junit {}: is the run's own {}; another file is expected", request.junit.string(),
                 of_run == "run.sqlite" ? "record" : "file");
  }
}

}  // namespace

Gating::Gating(const GateRequest& request, const std::filesystem::path& folder) : junit_(request.junit) {
  if (!junit_.empty()) {
    require_own_place(request, folder);
    require_writable(junit_);
  }
  for (const std::string& file : request.files) {
    std::vector<Gate> gates = read_gates(file);
    std::ranges::for_each(gates, require_run_word);
    std::move(gates.begin(), gates.end(), std::back_inserter(gates_));
  }
}

void Gating::judge(const std::string& name, const nlohmann::ordered_json& document) {
  try {
    results_ = check_gates(gates_, document);
    if (junit_.empty()) return;
    SuiteResult suite = gates_suite(name, document, results_);
    if (suite.version.empty()) suite.version = RANKWIRE_VERSION;
    write_file(junit_, junit_xml(suite));
  } catch (const Error&) {
    wrong_ = std::current_exception();
  }
}

void Gating::add_to(nlohmann::ordered_json& json) const {
  if (!gates_.empty()) json["gates"] = gates_json(results_);
}

void Gating::log_trouble() const {
  for (const GateResult& result : results_)
    if (result.verdict != CaseVerdict::kPass) log_error(result.gate.origin + ": " + result.text);
}

int Gating::status() const {
  if (wrong_) std::rethrow_exception(wrong_);
  return exit_status(results_);
}

}  // namespace rankwire
