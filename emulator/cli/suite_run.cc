#include "emulator/cli/suite_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/json_problem.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/writable.h"
#include "emulator/report/assessment.h"

namespace rankwire {
namespace {

void print_result(const CaseResult& result) {
  fmt::print("{:<13} {}: {} ({}){}\n", name_of(result.outcome.verdict), result.id, result.title, lasting(result.took),
             result.outcome.reason.empty() ? "" : ": " + printable_line(result.outcome.reason));
  std::fflush(stdout);
}

/// Of the catalogue, and of a suite that was there before. A name that is a path is none of a case.
std::vector<std::string> cases_left(const std::filesystem::path& folder, std::vector<std::string> ids) {
  try {
    for (const CaseResult& result : read_suite(folder / "suite.json").cases)
      if (result.id.find('/') == std::string::npos && !result.id.starts_with('.')) ids.push_back(result.id);
  } catch (const Error&) {  // there is none, or it is not whole
    return ids;
  }
  return ids;
}

void print_counts(const SuiteResult& suite, const std::filesystem::path& folder) {
  std::string counts;
  for (const CaseVerdict verdict : kCaseVerdicts)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", suite.count(verdict), name_of(verdict));
  const bool is_idle = !suite.interrupted && suite.count(CaseVerdict::kSkipped) == suite.cases.size();
  fmt::print("{}{}{}; {}\n", counts, suite.interrupted ? ", interrupted: --resume goes on" : "",
             is_idle ? ": nothing was tested" : "", (folder / "suite.html").string());
}

}  // namespace

void add_selection_options(CLI::App& verb, SuiteRunRequest& request) {
  verb.add_option("--only", request.only, "pattern of tests' ids, with * and ?; repeatable")->allow_extra_args(false);
  verb.add_flag("--json", request.json, "print JSON");
}

void add_suite_gate_option(CLI::App& verb, std::vector<std::string>& files) {
  verb.add_option("--gate", files,
                  "FILE of lines such as 'jct_ratio_p95 <= 1.10' (docs/ci.md): exit 1 where one is broken, 3 where one "
                  "cannot be told; repeatable")
      ->allow_extra_args(false);
}

void add_suite_options(CLI::App& verb, SuiteRunRequest& request, const char* standard) {
  verb.add_option("--out", request.out, fmt::format("folder of the results; default {}, numbered if taken", standard));
  CLI::Option* const resume =
      verb.add_flag("--resume", request.resume, "go on with what the folder holds of an earlier attempt");
  verb.add_flag("--force", request.overwrite, "begin anew in a folder that holds something")->excludes(resume);
  add_suite_gate_option(verb, request.gates);
  verb.add_flag("--yes", request.yes, "do not ask before sending on ports that are not embedded");
}

void require_consent(const SuiteRunRequest& request, const std::string& what) {
  if (request.yes) return;
  if (isatty(STDIN_FILENO) == 0) fail_input("{}; --yes says that this is wanted", what);
  fmt::print(stderr, "{}.\nGo on? [y/N] ", what);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "yes") fail_input("nothing was sent");
}

int run_suite_cases(const std::vector<TestCase>& cases, const SuiteIdentity& identity, const SuiteRunRequest& request) {
  const std::vector<Gate> gates = read_gates(request.gates);
  require_tests_of_gates(gates, cases);
  RunFolder folder({request.out, identity.standard, request.resume || request.overwrite});
  for (const char* const file : kSuiteFiles) require_writable(folder.path() / file);
  if (request.overwrite) folder.clear_all(cases_left(folder.path(), identity.catalogue));
  folder.keep();
  SuiteOptions options{.name = identity.name,
                       .version = RANKWIRE_VERSION,
                       .title = identity.title,
                       .properties = identity.properties,
                       .folder = folder.path(),
                       .resume = request.resume};
  const bool shows = !request.json && log_verbosity() == Verbosity::kNormal;
  if (shows && isatty(STDOUT_FILENO) != 0)
    options.begins = [](const TestCase& test, size_t index, size_t count) {
      fmt::print("{} of {}  {} ...\033[K\r", index + 1, count, test.id);
      std::fflush(stdout);
    };
  if (shows) options.ends = print_result;
  // A test may have a device of others in its hands, and what was found is to be told.
  const SecondSignalSpared spared;
  const SuiteResult suite = run_suite(cases, options, interrupt_flag());
  const SuiteVerdict verdict(suite, gates, identity.kpis);
  verdict.write_reports(folder.path(), {.title = identity.title});
  if (request.json) {
    verdict.print_json(folder.path() / "suite.json");
  } else if (shows) {
    print_counts(suite, folder.path());
    fmt::print("{}", printable(verdict.table()));
    std::fflush(stdout);
  } else {
    verdict.log_trouble();
  }
  return verdict.status();
}

std::vector<Gate> read_gates(const std::vector<std::string>& files) {
  std::vector<Gate> all;
  for (const std::string& file : files) {
    std::vector<Gate> gates = read_gates(std::filesystem::path(file));
    std::move(gates.begin(), gates.end(), std::back_inserter(all));
  }
  return all;
}

SuiteVerdict::SuiteVerdict(SuiteResult suite, const std::vector<Gate>& gates, const SuiteKpis& kpis)
    : suite_(std::move(suite)) {
  try {
    gates_ = check_suite_gates(gates, suite_, kpis);
  } catch (const Error&) {
    wrong_ = std::current_exception();
  }
}

void SuiteVerdict::write_reports(const std::filesystem::path& folder, const SuiteReportOptions& options) const {
  write_suite_reports(with_gates(suite_, gates_), folder, options);
}

void SuiteVerdict::print_json(const std::filesystem::path& file) const {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (gates_.empty()) {
    fmt::print("{}", text.str());
  } else {
    nlohmann::ordered_json json = parse_json(text.str(), file.string(), "is not the result of a suite");
    json["gates"] = gates_json(gates_);
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  std::fflush(stdout);
}

std::string SuiteVerdict::table() const {
  return gates_table(gates_);
}

void SuiteVerdict::log_trouble() const {
  for (const GateResult& result : gates_)
    if (result.verdict != CaseVerdict::kPass) log_error(result.gate.origin + ": " + result.text);
}

int SuiteVerdict::status() const {
  if (wrong_) std::rethrow_exception(wrong_);
  return worse_status(exit_status(suite_), exit_status(gates_));
}

std::string lasting(std::chrono::milliseconds time) {
  const double seconds = static_cast<double>(time.count()) / 1000;
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

}  // namespace rankwire
