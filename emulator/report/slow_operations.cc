#include "emulator/report/slow_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/jobs.h"
#include "emulator/report/operation_gaps.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/time_shares.h"

namespace rankwire {
namespace {

constexpr size_t kListedFlows = 8, kDrawnFlows = 3;

/// What is not transmitting is what messages waited for.
Duration waited(const OperationFlow& flow) {
  return flow.causes.total() - flow.causes[Cause::kTransmitting];
}

/// For each operation the connections that waited longest first. Empty lists where causes were not recorded.
std::vector<std::vector<OperationFlow>> culprits(const RunReader& record, const std::vector<OperationRow>& operations) {
  if (record.emulated() == nullptr) return std::vector<std::vector<OperationFlow>>(operations.size());
  auto flows = record.flows_of(*record.emulated(), operations);
  for (auto& of_operation : flows) std::ranges::stable_sort(of_operation, std::greater<>(), waited);
  return flows;
}

bool are_known(const std::vector<std::vector<OperationFlow>>& flows) {
  return std::ranges::any_of(flows, [](const auto& of_operation) { return !of_operation.empty(); });
}

/// The generator's ports by rank.
class SourcePorts {
 public:
  explicit SourcePorts(const RunReader& record)
      : nics_(record.rank_nics(*record.emulated())), names_(port_names(record, *record.emulated())) {}

  /// Empty where the record does not say.
  std::string operator()(const OperationFlow& flow) const {
    const uint32_t rank = flow.connection.source.value;
    return rank < nics_.size() ? name_of(names_, nics_[rank].port) : "";
  }

 private:
  std::vector<RankNic> nics_;
  std::map<PortId, std::string> names_;
};

}  // namespace

std::vector<OperationRow> slow_operations(const RunReader& record, const OperationStatistics& operations,
                                          size_t limit) {
  const bool both = record.emulated() != nullptr && record.reference() != nullptr;
  std::vector<OperationRow> rows = both ? operations.deviations() : operations.longest();
  rows.resize(std::min(rows.size(), limit));
  return rows;
}

nlohmann::ordered_json slow_operations_json(const RunReader& record, const OperationStatistics& operations,
                                            const Diagnosis& diagnosis) {
  using Json = nlohmann::ordered_json;
  const std::vector<OperationRow> rows = slow_operations(record, operations, kListedSlowOperations);
  const auto flows = culprits(record, rows);
  if (record.emulated() == nullptr || (!are_known(flows) && diagnosis.operations.empty())) return nullptr;
  const SourcePorts port(record);
  const JobNames jobs(record);
  Json list = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    const OperationRow& row = rows[i];
    Json& json = list.emplace_back(Json{{"name", row.node.name},
                                        {"kind", row.node.kind},
                                        {"group", row.node.group},
                                        {"rank", row.node.rank.value},
                                        {"node", row.node.id},
                                        {"iteration", row.iteration},
                                        {"emulated_ps", row.emulated->duration().ps},
                                        {"reference_ps", nullptr},
                                        {"time_by_cause", nullptr},
                                        {"gap", operation_gap_json(gap_of(diagnosis, row))}});
    if (row.reference) json["reference_ps"] = row.reference->duration().ps;
    if (row.causes) json["time_by_cause"] = causes_json(*row.causes);
    if (jobs.several()) json["job"] = jobs.name(row.node.job);
    Json& of_operation = json["connections"] = Json::array();
    for (size_t f = 0; f < std::min(flows[i].size(), kListedFlows); ++f) {
      const Connection& c = flows[i][f].connection;
      Json& flow = of_operation.emplace_back(Json{{"connection", c.id.value},
                                                  {"source", c.source.value},
                                                  {"destination", c.destination.value},
                                                  {"channel", c.channel},
                                                  {"control", c.control},
                                                  {"port", port(flows[i][f])}});
      flow.update(causes_json(flows[i][f].causes));
    }
  }
  return list;
}

std::vector<std::string> culprit_lines(const RunReader& record, const std::vector<OperationRow>& operations) {
  std::vector<std::string> lines(operations.size());
  const auto flows = culprits(record, operations);
  if (!are_known(flows)) return lines;
  const SourcePorts port(record);
  const RankNames names(record);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (flows[i].empty()) continue;
    const OperationFlow& flow = flows[i].front();
    const Connection& c = flow.connection;
    lines[i] = fmt::format("{} to {} at port {}{}: {} of {}", names.titled(c.source.value),
                           names.titled(c.destination.value), port(flow), c.control ? ", clear-to-send" : "",
                           shares_text(flow.causes), readable(flow.causes.total()));
  }
  return lines;
}

std::string html_slow_operations(const RunReader& record, const OperationStatistics& operations) {
  const std::vector<OperationRow> rows = slow_operations(record, operations, kListedSlowOperations);
  const auto flows = culprits(record, rows);
  if (!are_known(flows)) return {};
  using HtmlColumn::kText;
  HtmlTable table("slow operations", {{"Operation", kText},
                                      {"Kind", kText},
                                      {"Group", kText},
                                      {"Iteration"},
                                      {"From rank"},
                                      {"To rank"},
                                      {"Channel"},
                                      {"Port", kText},
                                      {"Time"},
                                      {"Where the time went", kText}});
  const SourcePorts port(record);
  const RankNames names(record);
  for (size_t i = 0; i < rows.size(); ++i) {
    const NodeInfo& node = rows[i].node;
    for (size_t f = 0; f < std::min(flows[i].size(), kDrawnFlows); ++f) {
      const OperationFlow& flow = flows[i][f];
      const Connection& c = flow.connection;
      table.add({node.name, node.kind, c.control ? node.group + ", clear-to-send" : node.group, rows[i].iteration,
                 names(c.source), names(c.destination), uint32_t{c.channel}, port(flow), flow.causes.total(),
                 shares_text(flow.causes)},
                html_operation(rows[i]));
    }
  }
  return "<p class=\"note\">Of all ranks of the operation the three connections that waited longest, that is, whose "
         "time was not transmitting.</p>\n" +
         std::move(table).finish();
}

}  // namespace rankwire
