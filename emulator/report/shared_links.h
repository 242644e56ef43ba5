// Which links the jobs of a record shared, as the model `flow` predicts it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// Of the first run that tells, what was shared longest first; empty where none tells.
std::vector<SharedLinkRow> longest_shared_links(const RunReader& record);

/// `summary.json`'s `jobs[].shared`: of the job, the first 16 of `longest_shared_links`.
nlohmann::ordered_json shared_links_json(const RunReader& record, std::span<const SharedLinkRow> longest, JobId job);
/// Of each job the link that it shared longest, at most 3 lines of the printed summary; empty where nothing was shared.
std::string shared_links_text(const RunReader& record);
/// A table of the section of jobs, of at most 50 rows; empty where nothing was shared.
std::string html_shared_links(const RunReader& record);
/// `shared.csv`: a row for each link, job and other.
std::string shared_links_csv(const RunReader& record);

}  // namespace rankwire
