#include "emulator/cli/suite_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "emulator/bmwg/kpis.h"
#include "emulator/cli/suite_run.h"
#include "emulator/cli/writable.h"
#include "emulator/suite/suite.h"
#include "emulator/suite/suite_report.h"

namespace rankwire {
namespace {

SuiteReportOptions chosen_reports(const std::string& list) {
  if (list.empty()) return {};
  SuiteReportOptions options{false, false, false};
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "junit") {
      options.junit = true;
    } else if (word == "markdown") {
      options.markdown = true;
    } else if (word == "html") {
      options.html = true;
    } else {
      fail_input("--format: '{}' is none of junit, markdown and html", word);
    }
  }
  return options;
}

/// What tests of that name are known to measure.
SuiteKpis known_kpis(const SuiteResult& suite) {
  SuiteKpis kpis;
  if (suite.name == "bmwg")
    for (const CaseResult& result : suite.cases) kpis[result.id] = measured_names_of(result.id);
  return kpis;
}

/// A line for each test that is not a pass, and one for all.
std::string verdict_lines(const SuiteResult& suite) {
  std::string text;
  for (const CaseResult& result : suite.cases) {
    if (result.outcome.verdict == CaseVerdict::kPass) continue;
    text += fmt::format("{:<13} {}: {}\n", name_of(result.outcome.verdict), result.id, result.outcome.reason);
  }
  for (const CaseVerdict verdict : kCaseVerdicts)
    text += fmt::format("{} {}  ", suite.count(verdict), name_of(verdict));
  return text + fmt::format("of {} tests{}\n", suite.cases.size(), suite.interrupted ? ", interrupted" : "");
}

}  // namespace

int draw_suite(const SuiteRequest& request) {
  const SuiteReportOptions options = chosen_reports(request.formats);
  const std::vector<Gate> gates = read_gates(request.gates);
  const std::filesystem::path given = request.folder;
  const std::filesystem::path file = std::filesystem::is_directory(given) ? given / "suite.json" : given;
  const SuiteResult suite = read_suite(file);
  for (const char* const name : names_of(options)) require_writable(file.parent_path() / name);
  const SuiteVerdict verdict(suite, gates, known_kpis(suite));
  if (request.form == OutputForm::kJson) {
    verdict.print_json(file);
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}", printable(verdict_lines(suite) + verdict.table()));
    std::fflush(stdout);
  }
  verdict.write_reports(file.parent_path(), options);
  return verdict.status();
}

void add_suite_verb(CLI::App& app, SuiteRequest& request, int& status) {
  CLI::App& verb =
      *app.add_subcommand("suite", "draw the result of tests of a device again: junit.xml, suite.md, suite.html");
  verb.add_option("FOLDER", request.folder, "folder of the tests, which has suite.json")->required();
  verb.add_option("--format", request.formats, "some of junit,markdown,html; default: all");
  verb.add_flag_callback(
      "--json", [&request] { request.form = OutputForm::kJson; }, "print suite.json");
  add_suite_gate_option(verb, request.gates);
  verb.footer(
      "Example: rankwire suite runs/bmwg --format junit,html\n"
      "     or: rankwire suite runs/bmwg --gate gates.txt");
  verb.callback([&request, &status] { status = draw_suite(request); });
}

}  // namespace rankwire
