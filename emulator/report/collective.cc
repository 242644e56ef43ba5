#include "emulator/report/collective.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

using CollectiveJson = nlohmann::ordered_json;

/// What the configuration says of the series; null where the run is of something else.
CollectiveJson series_of(const RunReader& record, CollectiveJson& config) {
  config = CollectiveJson::parse(record.config(), nullptr, false);
  if (!config.is_object()) return nullptr;
  const auto path = CollectiveJson::json_pointer("/workload/generate");
  if (!config.contains(path) || config[path].value("kind", "") != "collective") return nullptr;
  return config[path].value("collective", CollectiveJson());
}

uint32_t nodes_of_call(MeasuredCollective collective, uint32_t ranks) {
  if (collective == MeasuredCollective::kSendRecv) return 2;
  if (collective == MeasuredCollective::kHypercube) return 2 * (static_cast<uint32_t>(std::bit_width(ranks)) - 1);
  return 1;
}

CollectiveSide collective_side(std::vector<int64_t> times, MeasuredCollective collective, uint32_t ranks, Bytes size) {
  std::ranges::sort(times);
  const auto quantile = [&](size_t percent) { return Duration(times[(times.size() * percent + 99) / 100 - 1]); };
  __int128 sum = 0;
  for (const int64_t time : times) sum += time;
  const auto calls = static_cast<__int128>(times.size());
  const Duration mean(static_cast<int64_t>((sum + calls / 2) / calls));
  return {.calls = times.size(),
          .mean = mean,
          .p50 = quantile(50),
          .p95 = quantile(95),
          .p99 = quantile(99),
          .bandwidth = mean > Duration() ? measured_bandwidth(collective, ranks, size, mean) : MeasuredBandwidth()};
}

}  // namespace

std::optional<double> CollectiveRow::ratio() const {
  return emulated && reference ? ratio_of(emulated->mean, reference->mean) : std::nullopt;
}

const CollectiveSide* CollectiveTable::principal(const CollectiveRow& row) const {
  const std::optional<CollectiveSide>& side = is_emulated ? row.emulated : row.reference;
  return side ? &*side : nullptr;
}

bool CollectiveTable::is_cut_short(const CollectiveRow& row) const {
  const CollectiveSide* const side = principal(row);
  return side == nullptr || side->calls < calls;
}

std::optional<double> CollectiveTable::average_bus() const {
  double sum = 0;
  int count = 0;
  for (const CollectiveRow& row : rows) {
    const CollectiveSide* const side = principal(row);
    if (side == nullptr) continue;
    sum += side->bandwidth.bus;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

CollectiveStatistics::CollectiveStatistics(const RunReader& record) {
  CollectiveJson config;
  const CollectiveJson series = series_of(record, config);
  if (!series.is_object()) return;
  const auto collective = find_measured(series.value("operation", ""));
  if (!collective) return;
  CollectiveTable table{.collective = *collective,
                        .ranks = series.value("ranks", 2u),
                        .warmup = series.value("warmup", 0u),
                        .iterations = series.value("iterations", 0u),
                        .type = series.value("datatype", ""),
                        .redop = series.value("redop", "")};
  table.is_emulated = record.emulated() != nullptr;
  table.calls = uint64_t{table.iterations} * table.ranks * config["workload"].value("iterations", 1u);
  const MeasuredTraits& traits = traits_of(*collective);
  if (!traits.reduces) table.redop = "none";
  if (traits.rooted) table.root = series.value("root", int64_t{0});
  const bool is_checked = config["transport"].value("checking", "") == "on";
  if (const RecordedRun* run = record.emulated(); is_checked && run != nullptr && run->ended)
    table.wrong = run->end.counters.payload_errors;
  nodes_of_call_ = nodes_of_call(*collective, table.ranks);
  element_ = std::max(element_of(table.type), Bytes(1));
  bands_.emplace(record);
  table_ = std::move(table);
}

void CollectiveStatistics::add(const OperationRow& row) {
  if (!table_) return;
  const std::optional<MeasuredCall> call = measured_call(row.node.name);
  if (!call || call->is_warm_up) return;
  const bool continues = open_ && open_->iteration == row.iteration && open_->rank == row.node.rank &&
                         open_->call.size == call->size && open_->call.number == call->number;
  if (!continues) {
    close();
    open_ = Open{.iteration = row.iteration, .rank = row.node.rank, .call = *call};
  }
  const auto add_times = [&](Open::Times& of, const std::optional<OperationTimes>& times) {
    if (!times) return;
    of.start = of.nodes == 0 ? times->start : std::min(of.start, times->start);
    of.end = of.nodes == 0 ? times->end : std::max(of.end, times->end);
    ++of.nodes;
  };
  add_times(open_->sides[kEmulated], row.emulated);
  add_times(open_->sides[kReference], row.reference);
  if (nodes_of_call_ != 1) return;
  if (const ReferenceBand* band = bands_->of(row.node)) sizes_[call->size].band = *band;
}

void CollectiveStatistics::close() {
  if (!open_) return;
  for (const Side side : {kEmulated, kReference}) {
    const Open::Times& times = open_->sides[side];
    if (times.nodes == nodes_of_call_) sizes_[open_->call.size].times[side].push_back((times.end - times.start).ps);
  }
  open_.reset();
}

std::optional<CollectiveTable> CollectiveStatistics::finish() && {
  if (!table_) return std::nullopt;
  close();
  for (auto& [size, of] : sizes_) {
    if (of.times[kEmulated].empty() && of.times[kReference].empty()) continue;
    const int64_t parts = traits_of(table_->collective).divided ? table_->ranks : 1;
    CollectiveRow& row = table_->rows.emplace_back(
        CollectiveRow{.size = size, .count = size.count / parts / element_.count, .band = of.band});
    const auto side = [&](Side which) -> std::optional<CollectiveSide> {
      if (of.times[which].empty()) return std::nullopt;
      return collective_side(std::move(of.times[which]), table_->collective, table_->ranks, size);
    };
    row.emulated = side(kEmulated);
    row.reference = side(kReference);
  }
  return std::move(table_);
}

}  // namespace rankwire
