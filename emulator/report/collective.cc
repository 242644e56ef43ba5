#include "emulator/report/collective.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <span>
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

/// To the nearest picosecond.
Duration mean_time(__int128 sum, __int128 calls) {
  return Duration(static_cast<int64_t>((sum + calls / 2) / calls));
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
                        .redop = series.value("redop", ""),
                        .average = series.value("average", "mean")};
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
  if (table_->wrong) count_wrong(record);
}

void CollectiveStatistics::count_wrong(const RunReader& record) {
  unplaced_wrong_ = *table_->wrong;
  for (const WrongMessagesRow& row : record.wrong_messages(*record.emulated())) {
    const std::optional<MeasuredCall> call = measured_call(row.operation);
    if (!call) continue;
    wrong_[call->size] += row.messages;
    unplaced_wrong_ -= std::min(unplaced_wrong_, row.messages);
  }
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
  if (nodes_of_call_ != 1 || table_->average != "mean") return;
  if (const ReferenceBand* band = bands_->of_mean(row.node)) sizes_[call->size].band = *band;
}

void CollectiveStatistics::close() {
  if (!open_) return;
  for (const Side side : {kEmulated, kReference}) {
    const Open::Times& times = open_->sides[side];
    if (times.nodes != nodes_of_call_) continue;
    OfSize& of = sizes_[open_->call.size];
    const int64_t time = (times.end - times.start).ps;
    of.times[side].push_back(time);
    if (table_->average == "mean") continue;
    of.ranks[side].resize(std::max<size_t>(of.ranks[side].size(), open_->rank.value + 1));
    OfRank& rank = of.ranks[side][open_->rank.value];
    rank.sum += time;
    ++rank.calls;
  }
  open_.reset();
}

// Absent where the rank that is asked for has ended no call.
std::optional<Duration> CollectiveStatistics::average_of(const OfSize& of, Side side) const {
  if (table_->average == "mean") {
    __int128 sum = 0;
    for (const int64_t time : of.times[side]) sum += time;
    return mean_time(sum, static_cast<__int128>(of.times[side].size()));
  }
  const std::span<const OfRank> ranks(of.ranks[side]);
  std::vector<Duration> means;
  for (const OfRank& rank : table_->average == "rank0" ? ranks.first(1) : ranks) {
    if (rank.calls > 0) means.push_back(mean_time(rank.sum, rank.calls));
  }
  if (means.empty()) return std::nullopt;
  return table_->average == "max" ? std::ranges::max(means) : std::ranges::min(means);
}

std::optional<CollectiveSide> CollectiveStatistics::side_of(OfSize& of, Side side, Bytes size) const {
  std::vector<int64_t>& times = of.times[side];
  if (times.empty()) return std::nullopt;
  const std::optional<Duration> mean = average_of(of, side);
  if (!mean) return std::nullopt;
  std::ranges::sort(times);
  const auto quantile = [&](size_t percent) { return Duration(times[(times.size() * percent + 99) / 100 - 1]); };
  CollectiveSide result{.calls = times.size(),
                        .mean = *mean,
                        .p50 = quantile(50),
                        .p95 = quantile(95),
                        .p99 = quantile(99),
                        .bandwidth = {}};
  if (*mean > Duration()) result.bandwidth = measured_bandwidth(table_->collective, table_->ranks, size, *mean);
  return result;
}

std::optional<CollectiveTable> CollectiveStatistics::finish() && {
  if (!table_) return std::nullopt;
  close();
  for (auto& [size, of] : sizes_) {
    if (of.times[kEmulated].empty() && of.times[kReference].empty()) continue;
    const int64_t parts = traits_of(table_->collective).divided ? table_->ranks : 1;
    CollectiveRow& row = table_->rows.emplace_back(
        CollectiveRow{.size = size, .count = size.count / parts / element_.count, .band = of.band});
    row.emulated = side_of(of, kEmulated, size);
    row.reference = side_of(of, kReference, size);
    if (table_->wrong && (wrong_[size] > 0 || unplaced_wrong_ == 0)) row.wrong = wrong_[size];
  }
  return std::move(table_);
}

}  // namespace rankwire
