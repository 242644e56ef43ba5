#include "emulator/assembly/rate_sampling.h"

#include <algorithm>
#include <tuple>

namespace rankwire {
namespace {

std::optional<Bytes> window_of(Bytes window) {
  return window == Allowance::kUnlimited ? std::nullopt : std::optional(window);
}

PortRateRow port_row(const PortSample& row) {
  return {.time = row.at,
          .port = PortId(row.of),
          .tx = Bytes(static_cast<int64_t>(row.tx_bytes)),
          .rx = Bytes(static_cast<int64_t>(row.rx_bytes))};
}

AllowanceRow allowance_row(const AllowanceSample& row, const RateSeries& series, const TransportPlan& plan) {
  const RateSeries::Sender& sender = series.senders[row.of];
  const Connection& connection = plan.connections[sender.connection.value];
  return {.time = row.at,
          .connection = sender.connection,
          .member = sender.member,
          .source = connection.source,
          .destination = connection.destination,
          .rate = row.allowance.rate,
          .lowest_rate = row.lowest,
          .window = window_of(row.allowance.window),
          .smallest_window = window_of(row.smallest_window)};
}

/// Of the longer interval that ends at a multiple of it, the end of the one in which `time` is the end of another.
Time end_in(Duration interval, Time time) {
  return Time((time.ps + interval.ps - 1) / interval.ps * interval.ps);
}

}  // namespace

std::vector<RateSeries> rate_series(const RunConfig& config, uint32_t workers) {
  std::vector<RateSeries> series;
  if (!config.rate_interval) return series;
  constexpr uint32_t kFewest = 2;
  series.reserve(workers);
  for (uint32_t worker = 0; worker < workers; ++worker)
    series.emplace_back(*config.rate_interval, std::max(config.rate_rows / workers, kFewest));
  return series;
}

std::optional<RateSampling> rate_sampling(std::span<RateSeries> series, const TransportPlan& plan) {
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
    for (const PortSample& row : each.ports.rows()) rates.ports.push_back(port_row(row));
    for (const AllowanceSample& row : each.allowances.rows())
      rates.allowances.push_back(allowance_row(row, each, plan));
  }
  std::ranges::sort(rates.ports, {}, [](const PortRateRow& row) { return std::tuple(row.time, row.port); });
  std::ranges::sort(rates.allowances, {},
                    [](const AllowanceRow& row) { return std::tuple(row.time, row.connection, row.member); });
  return rates;
}

/// Whether rows that were told have changed, so that all are to be told again.
bool LiveRates::read(size_t most, RateSampling& rates) {
  bool anew = false;
  ports_.resize(most), allowances_.resize(most);
  for (size_t i = 0; i < series_.size(); ++i) {
    const auto ports = series_[i].ports.read(cursors_[i].ports, ports_);
    const auto allowances = series_[i].allowances.read(cursors_[i].allowances, allowances_);
    anew = anew || ports.anew || allowances.anew;
    rates.port_interval = std::max(rates.port_interval, ports.interval);
    rates.allowance_interval = std::max(rates.allowance_interval, allowances.interval);
    rates.lost += series_[i].ports.lost() + series_[i].allowances.lost();
    for (const PortSample& row : std::span(ports_).first(ports.rows)) rates.ports.push_back(port_row(row));
    for (const AllowanceSample& row : std::span(allowances_).first(allowances.rows))
      rates.allowances.push_back(allowance_row(row, series_[i], plan_));
  }
  return anew;
}

// An interval that has become longer at one worker is that of all: so all are told again.
std::optional<RateUpdate> LiveRates::rate_update(size_t most) {
  RateUpdate update;
  while (read(most, update.rates)) {
    update = {.anew = true, .rates = {}};
    for (Cursors& cursors : cursors_) cursors.ports.rows = cursors.allowances.rows = 0;
  }
  if (update.rates.ports.empty() && update.rates.allowances.empty() && !update.anew) return std::nullopt;
  for (PortRateRow& row : update.rates.ports) row.time = end_in(update.rates.port_interval, row.time);
  for (AllowanceRow& row : update.rates.allowances) row.time = end_in(update.rates.allowance_interval, row.time);
  return update;
}

}  // namespace rankwire
