// A catalogue that is carried out: which of its tests, in which order, with what has been found so far always on disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emulator/suite/test_case.h"

namespace rankwire {

/// A test with what was found. The fields of the case are copies, so that it can be read back from a file.
struct CaseResult {
  std::string id, title, stimulus, expectation, source;
  CaseOutcome outcome;
  int64_t began_unix_ms = 0;
  std::chrono::milliseconds took{0};
  std::string folder;  ///< of its artefacts, relative to that of the suite
};

struct SuiteResult {
  std::string name;                               ///< "bmwg", "nic-check"
  std::string version;                            ///< of rankwire
  std::map<std::string, std::string> properties;  ///< of device, topology, options: whatever identifies what was tested
  std::vector<CaseResult> cases;                  ///< in the order of the catalogue
  std::string title = {};                         ///< of its reports; empty: its name
  /// What had not begun then is not among the cases. On disk also while it goes on, and after it was killed.
  bool interrupted = false;

  uint64_t count(CaseVerdict verdict) const;
};

/// 1 where a test failed or could not be carried out, else 3 where one is inconclusive or nothing was tested, since all
/// were skipped or there were none, else 0. An interrupted suite is 1.
int exit_status(const SuiteResult& suite);

/// Whether a pattern of `*` (any text) and `?` (one character) is all of `id`.
bool selects(std::string_view pattern, std::string_view id);

/// Those that any of the patterns selects, in the catalogue's order; all where there are none. Throws Error(kInput)
/// naming a pattern that selects nothing.
std::vector<TestCase> select_cases(std::vector<TestCase> catalogue, std::span<const std::string> patterns);

struct SuiteOptions {
  std::string name, version, title = {};
  std::map<std::string, std::string> properties = {};
  std::filesystem::path folder;  ///< exists; gets `suite.json` and a folder a case
  /// What `suite.json` has, but for errors and tests whose stimulus or expectation is another now, is not run again;
  /// what is not among the cases stays as it was, and what is run again until it has ended.
  bool resume = false;
  /// Told before and after each case. Empty: nobody looks on.
  std::function<void(const TestCase& test, size_t index, size_t count)> begins = nullptr;
  std::function<void(const CaseResult& result)> ends = nullptr;
};

/// Runs the cases one after the other in this thread. What one throws is its verdict `error`, and the others go on.
/// `suite.json` is whole after every case, also when the process is killed. Throws Error(kRun) when the folder cannot
/// be written, Error(kInput) when it is to be resumed and belongs to another suite or, but for one in which all are
/// errors, has other properties.
SuiteResult run_suite(const std::vector<TestCase>& cases, const SuiteOptions& options,
                      const std::atomic<bool>& interrupted);

/// `suite.json`. Throws Error(kInput) naming the file and what is wrong with it.
SuiteResult read_suite(const std::filesystem::path& file);
void write_suite(const SuiteResult& suite, const std::filesystem::path& file);

}  // namespace rankwire
