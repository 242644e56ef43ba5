#include "emulator/suite/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

std::filesystem::path folder_of(const TestCase& test) {
  return std::filesystem::path("cases") / test.id;
}

std::filesystem::path make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  // What an attempt before this one has left would not be this one's.
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error) fail_run("{}: {}", folder.string(), error.message());
  return folder;
}

CaseOutcome carry_out(const TestCase& test, const CaseContext& context) {
  try {
    return test.run(context);
  } catch (const std::exception& error) {
    return CaseOutcome::error(error.what());
  }
}

CaseResult run_case(const TestCase& test, const SuiteOptions& options, const std::atomic<bool>& interrupted) {
  CaseResult result{test.id, test.title, test.stimulus, test.expectation, test.source};
  result.folder = folder_of(test).string();
  const std::filesystem::path folder = make_folder(options.folder / result.folder);
  result.began_unix_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  const auto began = std::chrono::steady_clock::now();
  result.outcome = carry_out(test, {folder, interrupted});
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  std::error_code ignored;
  if (std::filesystem::is_empty(folder, ignored)) {
    std::filesystem::remove(folder, ignored);
    result.folder.clear();
  }
  return result;
}

/// What a suite that is resumed has found before. Throws where that is of something else.
std::vector<CaseResult> found_before(const SuiteOptions& options, const std::filesystem::path& file) {
  if (!options.resume || !std::filesystem::exists(file)) return {};
  SuiteResult before = read_suite(file);
  if (before.name != options.name)
    fail_input("{}: is of '{}', not of '{}'; another --out is needed", file.string(), before.name, options.name);
  // Nothing of it is continued, such as where the device could not be reached.
  const bool is_of_errors_alone = before.count(CaseVerdict::kError) == before.cases.size();
  if (is_of_errors_alone && before.properties != options.properties) return {};
  std::map<std::string, std::string> all = before.properties;
  all.insert(options.properties.begin(), options.properties.end());
  const auto value_of = [](const std::map<std::string, std::string>& properties, const std::string& key) {
    const auto at = properties.find(key);
    return at == properties.end() ? std::string() : at->second;
  };
  for (const auto& [key, unused] : all) {
    const std::string old = value_of(before.properties, key), now = value_of(options.properties, key);
    if (old != now)
      fail_input("{}: {} was '{}' and is '{}' now, so its results cannot be continued; another --out is needed",
                 file.string(), key, old, now);
  }
  return std::move(before.cases);
}

/// Whether a result stands for the test as it is now.
bool still_holds(const CaseResult& result, const TestCase& test) {
  return result.outcome.verdict != CaseVerdict::kError && result.stimulus == test.stimulus &&
         result.expectation == test.expectation;
}

/// Takes a result into the suite instead of an earlier one of that test: in the order of `cases`, behind those of tests
/// that are none of them.
void enter(CaseResult result, const std::vector<TestCase>& cases, SuiteResult& suite) {
  std::erase_if(suite.cases, [&](const CaseResult& other) { return other.id == result.id; });
  const auto place = [&](const CaseResult& of) {
    const auto test = std::ranges::find(cases, of.id, &TestCase::id);
    return test == cases.end() ? -1 : test - cases.begin();
  };
  const auto behind = std::ranges::upper_bound(suite.cases, place(result), {}, place);
  suite.cases.insert(behind, std::move(result));
}

}  // namespace

uint64_t SuiteResult::count(CaseVerdict verdict) const {
  return static_cast<uint64_t>(
      std::ranges::count_if(cases, [verdict](const CaseResult& result) { return result.outcome.verdict == verdict; }));
}

int exit_status(const SuiteResult& suite) {
  if (suite.interrupted || suite.count(CaseVerdict::kFail) > 0 || suite.count(CaseVerdict::kError) > 0) return 1;
  const bool is_idle = suite.count(CaseVerdict::kSkipped) == suite.cases.size();
  return is_idle || suite.count(CaseVerdict::kInconclusive) > 0 ? 3 : 0;
}

bool selects(std::string_view pattern, std::string_view id) {
  // The last star takes one more character whenever what follows it does not fit.
  size_t at = 0, p = 0, star = std::string_view::npos, taken = 0;
  while (at < id.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == id[at]) && pattern[p] != '*') {
      ++at;
      ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::vector<TestCase> select_cases(std::vector<TestCase> catalogue, std::span<const std::string> patterns) {
  if (patterns.empty()) return catalogue;
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(catalogue, [&](const TestCase& test) { return selects(pattern, test.id); }))
      fail_input("no test is called '{}'; the list of them begins with {}", pattern,
                 catalogue.empty() ? "none" : catalogue.front().id);
  std::erase_if(catalogue, [&](const TestCase& test) {
    return std::ranges::none_of(patterns, [&](const std::string& pattern) { return selects(pattern, test.id); });
  });
  return catalogue;
}

SuiteResult run_suite(const std::vector<TestCase>& cases, const SuiteOptions& options,
                      const std::atomic<bool>& interrupted) {
  const std::filesystem::path file = options.folder / "suite.json";
  const std::vector<CaseResult> found = found_before(options, file);
  SuiteResult suite{options.name, options.version, options.properties};
  suite.title = options.title;
  // Until the end: a process that is killed leaves a suite that is not whole.
  suite.interrupted = true;
  // All of it stays until something newer is known, whenever this process is killed.
  for (const CaseResult& result : found) enter(result, cases, suite);
  write_suite(suite, file);
  bool cut_short = false;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto before = std::ranges::find(found, cases[i].id, &CaseResult::id);
    if (before != found.end() && still_holds(*before, cases[i])) continue;
    cut_short |= interrupted;
    if (cut_short) continue;
    if (options.begins) options.begins(cases[i], i, cases.size());
    const CaseResult result = run_case(cases[i], options, interrupted);
    if (interrupted) {
      // Cut short, so that it says nothing about the device.
      cut_short = true;
      continue;
    }
    enter(result, cases, suite);
    write_suite(suite, file);
    if (options.ends) options.ends(result);
  }
  suite.interrupted = cut_short;
  write_suite(suite, file);
  return suite;
}

}  // namespace rankwire
