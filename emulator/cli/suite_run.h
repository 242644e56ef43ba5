// What verbs that run a suite of tests have in common: consent, folder, what is printed, reports.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "emulator/suite/gate.h"
#include "emulator/suite/suite.h"
#include "emulator/suite/suite_gates.h"
#include "emulator/suite/suite_report.h"

namespace rankwire {

struct SuiteRunRequest {
  std::filesystem::path out;       ///< empty: a standard one, numbered where it is taken
  std::vector<std::string> only;   ///< patterns of ids; empty: all
  std::vector<std::string> gates;  ///< files, as read_gates reads them
  bool resume = false, overwrite = false, yes = false, json = false;
};

/// `--only` and `--json`.
void add_selection_options(CLI::App& verb, SuiteRunRequest& request);
/// `--gate`.
void add_suite_gate_option(CLI::App& verb, std::vector<std::string>& files);
/// `--out`, `--resume`, `--force`, `--yes` and `--gate`. `standard`: the folder without `--out`.
void add_suite_options(CLI::App& verb, SuiteRunRequest& request, const char* standard);

/// Before anything is sent that may bring a network down which others use: asks at the terminal, unless `--yes` was
/// given. `what`: a sentence without its end. Throws Error(kInput) where that is not wanted, or nobody can be asked.
void require_consent(const SuiteRunRequest& request, const std::string& what);

struct SuiteIdentity {
  std::string name;   ///< as SuiteResult::name
  std::string title;  ///< of the reports
  std::filesystem::path standard;
  std::map<std::string, std::string> properties;
  SuiteKpis kpis = {};                      ///< that its tests are known to measure
  std::vector<std::string> catalogue = {};  ///< ids of all tests that there are, whichever are run
};

/// Runs the cases, prints a line for each as it ends, or with `--json` the whole suite.json at the end, and writes the
/// reports, in which each gate is a test. Returns the exit status of the suite, or of its gates where that is worse.
/// Throws Error(kInput) where the folder holds something and neither
/// `--resume` nor `--force` was given, and for gates that cannot be read or name a test which is none of these, before
/// anything is run.
int run_suite_cases(const std::vector<TestCase>& cases, const SuiteIdentity& identity, const SuiteRunRequest& request);

/// All of the files, in their order.
std::vector<Gate> read_gates(const std::vector<std::string>& files);

/// A suite as it is told of: its reports, with `--json` the whole of suite.json and the gates.
class SuiteVerdict {
 public:
  /// Judges. What is wrong with a gate is thrown by `status` instead, so that the result can be told of before.
  SuiteVerdict(SuiteResult suite, const std::vector<Gate>& gates, const SuiteKpis& kpis);

  void write_reports(const std::filesystem::path& folder, const SuiteReportOptions& options) const;
  void print_json(const std::filesystem::path& file) const;
  /// A line for each gate; empty without.
  std::string table() const;
  /// Logs each gate that is not kept, for who prints nothing else.
  void log_trouble() const;
  /// Throws Error(kInput) for a gate of a figure that is unknown.
  int status() const;

 private:
  SuiteResult suite_;
  std::vector<GateResult> gates_;
  std::exception_ptr wrong_;
};

/// "90 s", "3 min", "25 h".
std::string lasting(std::chrono::milliseconds time);

}  // namespace rankwire
