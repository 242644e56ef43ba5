// The jobs of a record: when each was at work, and how much longer it took than without the others.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// What reports say of whose something is. Empty texts where the record has fewer than two jobs, but for entries of the
/// background, which have JobIds behind those of the jobs.
class JobNames {
 public:
  explicit JobNames(const RunReader& record);

  /// There are several jobs.
  bool several() const { return !names_.empty(); }
  std::string name(JobId job) const;
  /// The text of something that every job may have: "dp0 of job a".
  std::string with_job(const std::string& text, JobId job) const;

 private:
  std::vector<std::string> names_;
  std::map<JobId, std::string> background_;
};

/// The number of the job that a rank is of; of a record without jobs all are of the first. Empty for an end of the
/// background.
std::string job_of_rank(const RunReader& record, RankId rank);

/// "#rrggbb", the report's choice where the configuration has none.
std::string color_of(const JobInfo& job);

/// A job in one run.
struct JobResult {
  JobSpan span;
  std::optional<Duration> completion;  ///< JCT
  std::optional<double> interference;  ///< JCT over the JCT alone
  std::optional<Duration> lost;        ///< JCT beyond that without failures; of the model that knows that
};

/// Empty results where `run` is null or has not ended; else by JobId.
std::vector<JobResult> job_results(const RunReader& record, const RecordedRun* run);

/// `summary.json`'s `jobs`: of each job what the configuration says, `alone`, `emulated` and `reference`, and
/// who is to blame.
nlohmann::ordered_json jobs_json(const RunReader& record, const Diagnosis& diagnosis = {});
/// A table of the printed summary: of more than five jobs the five that others held up most. Empty where the record has
/// no jobs.
std::string jobs_text(const RunReader& record);
/// `shares` are those of the emulated side. The section of `report.html`; empty where the record has no jobs.
std::string html_jobs(const RunReader& record, std::span<const PortShare> shares = {});
/// `jobs.csv`: a row for each job of each run.
std::string jobs_csv(const RunReader& record);

}  // namespace rankwire
