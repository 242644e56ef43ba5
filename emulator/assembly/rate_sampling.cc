#include "emulator/assembly/rate_sampling.h"

#include <algorithm>
#include <tuple>

namespace rankwire {
namespace {

std::optional<Bytes> window_of(Bytes window) {
  return window == Allowance::kUnlimited ? std::nullopt : std::optional(window);
}

}  // namespace

std::vector<RateSeries> rate_series(const RunConfig& config, uint32_t workers) {
  if (!config.rate_interval) return {};
  constexpr uint32_t kFewest = 2;
  return std::vector<RateSeries>(workers, {*config.rate_interval, std::max(config.rate_rows / workers, kFewest)});
}

std::optional<RateSampling> rate_sampling(std::span<RateSeries> series) {
  if (series.empty()) return std::nullopt;
  RateSampling rates;
  for (const RateSeries& each : series) {
    rates.port_interval = std::max(rates.port_interval, each.ports.interval());
    rates.allowance_interval = std::max(rates.allowance_interval, each.allowances.interval());
  }
  for (RateSeries& each : series) {
    each.ports.lengthen(rates.port_interval);
    each.allowances.lengthen(rates.allowance_interval);
    rates.lost += each.ports.lost() + each.allowances.lost();
    for (const PortSample& row : each.ports.rows())
      rates.ports.push_back({.time = row.at,
                             .port = PortId(row.of),
                             .tx = Bytes(static_cast<int64_t>(row.tx_bytes)),
                             .rx = Bytes(static_cast<int64_t>(row.rx_bytes))});
    for (const AllowanceSample& row : each.allowances.rows())
      rates.allowances.push_back({.time = row.at,
                                  .connection = each.senders[row.of].connection,
                                  .member = each.senders[row.of].member,
                                  .source = {},
                                  .destination = {},
                                  .rate = row.allowance.rate,
                                  .lowest_rate = row.lowest,
                                  .window = window_of(row.allowance.window),
                                  .smallest_window = window_of(row.smallest_window)});
  }
  std::ranges::sort(rates.ports, {}, [](const PortRateRow& row) { return std::tuple(row.time, row.port); });
  std::ranges::sort(rates.allowances, {},
                    [](const AllowanceRow& row) { return std::tuple(row.time, row.connection, row.member); });
  return rates;
}

}  // namespace rankwire
