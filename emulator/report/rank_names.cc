#include "emulator/report/rank_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rankwire {

RankNames::RankNames(const RunReader& record) : background_(record.background_ends()) {
  if (record.jobs().size() > 1) jobs_ = record.jobs();
  const auto config = nlohmann::json::parse(record.config(), nullptr, false);
  const nlohmann::json::json_pointer list("/collectives/aggregators");
  if (!config.is_object() || !config.contains(list) || !config[list].is_array()) return;
  for (const nlohmann::json& aggregator : config[list])
    if (aggregator.is_object()) aggregators_.push_back(aggregator.value("name", std::string()));
  if (aggregators_.empty()) return;
  for (const RecordedRun* run : {record.emulated(), record.reference()})
    if (run != nullptr && run->start.ranks >= aggregators_.size()) {
      first_ = run->start.ranks - aggregators_.size();
      return;
    }
  aggregators_.clear();
}

std::string RankNames::end_of_background(uint64_t rank) const {
  const auto end = background_.find(RankId(static_cast<uint32_t>(rank)));
  return end == background_.end() ? std::string() : end->second;
}

const JobInfo* RankNames::job_of(uint64_t rank) const {
  const auto after = std::ranges::upper_bound(jobs_, rank, {}, &JobInfo::first_rank);
  return after == jobs_.begin() ? nullptr : &*(after - 1);
}

std::string RankNames::operator()(uint64_t rank) const {
  if (std::string end = end_of_background(rank); !end.empty()) return end;
  if (const JobInfo* job = job_of(rank)) return fmt::format("{}:{}", job->name, rank - job->first_rank);
  return is_aggregator(rank) ? aggregators_[rank - first_] : fmt::to_string(rank);
}

std::string RankNames::titled(uint64_t rank) const {
  if (std::string end = end_of_background(rank); !end.empty()) return end;
  if (const JobInfo* job = job_of(rank)) return fmt::format("rank {} of job {}", rank - job->first_rank, job->name);
  return is_aggregator(rank) ? aggregators_[rank - first_] : fmt::format("rank {}", rank);
}

std::string RankNames::label(uint64_t rank) const {
  return job_of(rank) != nullptr ? (*this)(rank) : titled(rank);
}

}  // namespace rankwire
