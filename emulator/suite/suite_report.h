// The result of a suite for people and for pipelines: `junit.xml`, `suite.md` and `suite.html` beside `suite.json`.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "emulator/suite/suite.h"

namespace rankwire {

struct SuiteReportOptions {
  bool junit = true, markdown = true, html = true;
  std::string title = {};  ///< of the reports; empty: that of the suite, or its name
};

/// The files that these are.
std::vector<const char*> names_of(const SuiteReportOptions& options);

/// What a folder of a suite has at the end.
inline constexpr std::array kSuiteFiles = {"suite.json", "junit.xml", "suite.md", "suite.html"};

/// Writes what is chosen, each file whole or not at all. Properties of the suite are grouped by what their name has
/// before its first dot: "dut.model" stands beneath "Device under test" as "model", and likewise "topology.", "test."
/// (its configuration) and "host."; other prefixes are headings as they are. A value of several lines keeps them,
/// and control characters appear as "\x1b".
/// Throws Error(kRun) where some of them cannot be written, when all others are.
void write_suite_reports(const SuiteResult& suite, const std::filesystem::path& folder,
                         const SuiteReportOptions& options = {});

/// The texts of `suite.md`, GitHub-flavoured, and of `suite.html`, which opens offline.
std::string suite_markdown(const SuiteResult& suite, const std::string& title);
std::string suite_html(const SuiteResult& suite, const std::string& title);

}  // namespace rankwire
