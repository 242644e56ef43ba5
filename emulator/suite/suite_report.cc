#include "emulator/suite/suite_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "emulator/report/output_file.h"
#include "emulator/suite/junit.h"

namespace rankwire {

std::vector<const char*> names_of(const SuiteReportOptions& options) {
  std::vector<const char*> names;
  if (options.junit) names.push_back("junit.xml");
  if (options.markdown) names.push_back("suite.md");
  if (options.html) names.push_back("suite.html");
  return names;
}

void write_suite_reports(const SuiteResult& suite, const std::filesystem::path& folder,
                         const SuiteReportOptions& options) {
  const std::string& title = !options.title.empty() ? options.title : suite.title.empty() ? suite.name : suite.title;
  std::vector<std::string> unwritten;
  const auto write = [&](const char* name, const std::string& text) {
    try {
      write_file(folder / name, text);
    } catch (const Error& error) {
      unwritten.emplace_back(error.what());
    }
  };
  // Names and texts are of configurations, devices and hooks.
  if (options.junit) write("junit.xml", junit_xml(suite));
  if (options.markdown) write("suite.md", printable(suite_markdown(suite, title)));
  if (options.html) write("suite.html", printable(suite_html(suite, title)));
  if (!unwritten.empty()) fail_run("{}", fmt::join(unwritten, "; "));
}

}  // namespace rankwire
