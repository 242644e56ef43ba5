#include "emulator/report/rank_names.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace rankwire {

RankNames::RankNames(const RunReader& record) {
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

std::string RankNames::operator()(uint64_t rank) const {
  return is_aggregator(rank) ? aggregators_[rank - first_] : fmt::to_string(rank);
}

std::string RankNames::titled(uint64_t rank) const {
  return is_aggregator(rank) ? aggregators_[rank - first_] : fmt::format("rank {}", rank);
}

}  // namespace rankwire
