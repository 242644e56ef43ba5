#include "emulator/suite/suite_report.h"

#include "emulator/report/output_file.h"
#include "emulator/suite/junit.h"

namespace rankwire {

void write_suite_reports(const SuiteResult& suite, const std::filesystem::path& folder,
                         const SuiteReportOptions& options) {
  const std::string& title = options.title.empty() ? suite.name : options.title;
  if (options.junit) write_file(folder / "junit.xml", junit_xml(suite));
  if (options.markdown) write_file(folder / "suite.md", suite_markdown(suite, title));
  if (options.html) write_file(folder / "suite.html", suite_html(suite, title));
}

}  // namespace rankwire
