#include "emulator/suite/suite_report.h"

#include <fmt/format.h>

#include "emulator/report/format.h"
#include "emulator/report/output_file.h"
#include "emulator/suite/case_text.h"
#include "emulator/suite/junit.h"

namespace rankwire {

void write_suite_reports(const SuiteResult& suite, const std::filesystem::path& folder,
                         const SuiteReportOptions& options) {
  const std::string& title = options.title.empty() ? suite.name : options.title;
  if (options.junit) write_file(folder / "junit.xml", junit_xml(suite));
  if (options.markdown) write_file(folder / "suite.md", suite_markdown(suite, title));
  if (options.html) write_file(folder / "suite.html", suite_html(suite, title));
}

std::string suite_markdown(const SuiteResult& suite, const std::string& title) {
  std::string text = fmt::format("# {}\n\n| test | verdict | reason |\n|---|---|---|\n", title);
  for (const CaseResult& result : suite.cases)
    text += fmt::format("| {} | {} | {} |\n", result.id, name_of(result.outcome.verdict), result.outcome.reason);
  return text;
}

std::string suite_html(const SuiteResult& suite, const std::string& title) {
  std::string text = fmt::format("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{}</title>\n", html_escaped(title));
  for (const CaseResult& result : suite.cases)
    text += fmt::format("<pre>{}: {}\n{}</pre>\n", html_escaped(result.id), name_of(result.outcome.verdict),
                        html_escaped(case_text(result)));
  return text;
}

}  // namespace rankwire
