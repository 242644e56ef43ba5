#include "emulator/report/markdown.h"

#include <fmt/format.h>

#include <utility>

#include "emulator/report/assessment.h"
#include "emulator/report/band.h"
#include "emulator/report/certification.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/findings.h"
#include "emulator/report/format.h"
#include "emulator/report/jobs.h"
#include "emulator/report/limits.h"
#include "emulator/report/repetitions.h"

namespace rankwire {
namespace {

constexpr size_t kMarkdownGroups = 50;

std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<' || c == '`' || c == '*' || c == '_') escaped += '\\';
    escaped += c == '\n' || c == '\r' ? ' ' : c;
  }
  return escaped;
}

std::string time(std::optional<Duration> duration) {
  return duration ? readable(*duration) : "-";
}

}  // namespace

std::string report_markdown(const RunReader& record, const RecordFigures& figures) {
  const RecordVerdict verdict = verdict_of(record);
  const FidelityAssessment fidelity = assess_fidelity(record);
  std::string text = "# rankwire report\n\n| | |\n|---|---|\n";
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("| {} | {} |\n", name, cell(value));
  };
  add("Verdict", verdict.reason.empty() ? verdict.verdict : verdict.verdict + ": " + verdict.reason);
  add("Fidelity", fidelity.fidelity);
  add("Emulated completion", time(completion_of(record, record.emulated())));
  add("Reference completion", time(completion_of(record, record.reference())));
  add("Emulated / reference", readable_ratio(predicted_ratio(record)));
  if (const std::string certified = certification_text(record); !certified.empty()) add("Resolution", certified);
  for (const std::string& line : repetition_lines(record)) add("Repetitions", line);
  if (const RecordedRun* run = principal_run(record)) {
    add("Messages", fmt::to_string(run->end.messages));
    add("On the wire", readable(run->end.bytes_wire));
    add("Local", readable(run->end.bytes_local));
  }
  const std::vector<JobResult> emulated = job_results(record, record.emulated());
  const std::vector<JobResult> reference = job_results(record, record.reference());
  for (const JobInfo& job : record.jobs()) {
    const auto times_of = [&](const std::vector<JobResult>& results) {
      const JobResult& result = results[job.job.value];
      return fmt::format("{} ({} times alone)", time(result.completion), readable_ratio(result.interference));
    };
    std::string times = emulated.empty() ? "" : "emulated " + times_of(emulated);
    if (!reference.empty()) times += fmt::format("{}reference {}", times.empty() ? "" : ", ", times_of(reference));
    add(cell("Job " + job.name).c_str(), times.empty() ? "-" : times);
  }
  for (const auto& [name, line] : {std::pair("Path", critical_path_line(record, figures.diagnosis)),
                                   std::pair("Gap", waterfall_line(record, figures.diagnosis))})
    if (!line.empty()) add(name, cell(line));
  for (const auto& [key, value] : record.dut()) add(cell("DUT " + key).c_str(), value);
  for (const std::string& finding : findings(record, figures.diagnosis)) text += fmt::format("\n- {}", cell(finding));
  for (const LimitResult& limit : limit_results(record)) text += fmt::format("\n- {}", cell(limit.text));
  for (const std::string& reason : fidelity.reasons) text += fmt::format("\n- {}", cell(reason));
  for (const std::string& warning : all_warnings(record)) text += fmt::format("\n- {}", cell(warning));
  text +=
      "\n\n| Name | Kind | Count | Emulated mean | Reference mean | Ratio | Worst |\n|---|---|--:|--:|--:|--:|--:|\n";
  const JobNames jobs(record);
  for (const OperationGroup* g : figures.operations.groups(kMarkdownGroups)) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(jobs.with_job(g->name, g->job)), cell(g->kind),
                        g->count, time(g->emulated.duration()), time(g->reference.duration()),
                        readable_ratio(g->ratio()), readable(g->worst));
  }
  return text;
}

}  // namespace rankwire
