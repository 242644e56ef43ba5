// What verbs that run a suite of tests have in common: consent, folder, what is printed, reports.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "emulator/suite/suite.h"

namespace rankwire {

struct SuiteRunRequest {
  std::filesystem::path out;      ///< empty: a standard one, numbered where it is taken
  std::vector<std::string> only;  ///< patterns of ids; empty: all
  bool resume = false, overwrite = false, yes = false, json = false;
};

/// `--only` and `--json`.
void add_selection_options(CLI::App& verb, SuiteRunRequest& request);
/// `--out`, `--resume`, `--force` and `--yes`. `standard`: the folder without `--out`.
void add_suite_options(CLI::App& verb, SuiteRunRequest& request, const char* standard);

/// Before anything is sent that may bring a network down which others use: asks at the terminal, unless `--yes` was
/// given. `what`: a sentence without its end. Throws Error(kInput) where that is not wanted, or nobody can be asked.
void require_consent(const SuiteRunRequest& request, const std::string& what);

struct SuiteIdentity {
  std::string name;   ///< as SuiteResult::name
  std::string title;  ///< of the reports
  std::filesystem::path standard;
  std::map<std::string, std::string> properties;
};

/// Runs the cases, prints a line for each as it ends, or with `--json` the whole suite.json at the end, and writes the
/// reports. Returns the exit status of the suite. Throws Error(kInput) where the folder holds something and neither
/// `--resume` nor `--force` was given.
int run_suite_cases(const std::vector<TestCase>& cases, const SuiteIdentity& identity, const SuiteRunRequest& request);

/// "90 s", "3 min", "25 h".
std::string lasting(std::chrono::milliseconds time);

}  // namespace rankwire
