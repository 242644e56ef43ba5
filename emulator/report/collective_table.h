// The table of a collective over sizes, as text, JSON, CSV and a section of the page.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/report/cluster.h"
#include "emulator/report/collective.h"

namespace rankwire {

/// As nccl-tests prints it, the columns of the reference and of the spread behind its own. Of times in microseconds and
/// bandwidths in GB/s; "-" where there is nothing, "N/A" of payload that was not compared.
std::string collective_text(const CollectiveTable& table);
/// `summary.json`'s `collective`; null where there is no table.
nlohmann::ordered_json collective_json(const std::optional<CollectiveTable>& table);
/// `collective.csv`: a row for each size.
std::string collective_csv(const CollectiveTable& table);
/// Curves over sizes, and the table, each with the cluster's where there is one; empty where there is no table.
std::string html_collective(const std::optional<CollectiveTable>& table,
                            const std::optional<ClusterComparison>& cluster);

}  // namespace rankwire
