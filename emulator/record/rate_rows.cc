// Rates over time in the record.
#include "emulator/record/rate_rows.h"

#include <utility>

#include "emulator/record/columns.h"
#include "emulator/record/reader.h"
#include "emulator/record/record_version.h"
#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

std::optional<int64_t> count_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->count) : std::nullopt;
}

std::optional<Bytes> bytes_of(const std::optional<int64_t>& count) {
  return count ? std::optional(Bytes(*count)) : std::nullopt;
}

}  // namespace

void RunStore::rates(uint32_t run, const RateSampling& rates) {
  forget_rates(run);
  insert_rates(run, rates);
}

void RunStore::rate_update(uint32_t run, const RateUpdate& update) {
  open();
  if (update.anew) forget_rates(run);
  live_[run].rates = true;
  insert_rates(run, update.rates);
}

/// What was written of them before the run's end.
void RunStore::forget_rates(uint32_t run) {
  if (!std::exchange(live_[run].rates, false)) return;
  database_.prepare("DELETE FROM port_rates WHERE run=?").bind(run).execute();
  database_.prepare("DELETE FROM allowances WHERE run=?").bind(run).execute();
}

void RunStore::insert_rates(uint32_t run, const RateSampling& rates) {
  database_.prepare("INSERT OR REPLACE INTO rate_sampling VALUES(?,?,?,?)")
      .bind(run, rates.port_interval, rates.allowance_interval, rates.lost)
      .execute();
  Statement insert_port = database_.prepare("INSERT INTO port_rates VALUES(?,?,?,?,?)");
  for (const PortRateRow& row : rates.ports)
    insert_port.bind(run, row.time.ps, row.port.value, row.tx.count, row.rx.count).execute();
  Statement insert = database_.prepare("INSERT INTO allowances VALUES(?,?,?,?,?,?,?,?,?,?)");
  for (const AllowanceRow& row : rates.allowances) {
    insert
        .bind(run, row.time.ps, row.connection.value, uint32_t{row.member}, row.rate.bits_per_second,
              row.lowest_rate.bits_per_second, count_of(row.window), count_of(row.smallest_window), row.source.value,
              row.destination.value)
        .execute();
  }
}

std::optional<RateSampling> RunReader::rates(const RecordedRun& run) const {
  if (!has_table("rate_sampling")) return std::nullopt;
  Statement how =
      database_.prepare("SELECT port_interval_ps, allowance_interval_ps, rows_lost FROM rate_sampling WHERE run=?");
  how.bind(run.run);
  if (!how.step()) return std::nullopt;
  RateSampling rates{.port_interval = duration(how, 0), .allowance_interval = duration(how, 1), .lost = count(how, 2)};
  Statement ports =
      database_.prepare("SELECT time_ps, port, tx_bytes, rx_bytes FROM port_rates WHERE run=? ORDER BY time_ps, rowid");
  ports.bind(run.run);
  while (ports.step())
    rates.ports.push_back({.time = Time(ports.integer(0)),
                           .port = PortId(small(ports, 1)),
                           .tx = Bytes(ports.integer(2)),
                           .rx = Bytes(ports.integer(3))});
  // Records did not always say between whom, which flows tell as well.
  const auto end_of = [&](const char* column) {
    return column_or(database_, "allowances", column,
                     fmt::format("(SELECT {} FROM flows WHERE flows.run=allowances.run AND "
                                 "flows.connection=allowances.connection LIMIT 1)",
                                 column));
  };
  Statement rows = database_.prepare(
      fmt::format("SELECT time_ps, connection, member, {}, {}, rate_bps, lowest_rate_bps, window_bytes, "
                  "smallest_window_bytes FROM allowances WHERE run=? ORDER BY time_ps, rowid",
                  end_of("source"), end_of("destination")));
  rows.bind(run.run);
  while (rows.step())
    rates.allowances.push_back({.time = Time(rows.integer(0)),
                                .connection = ConnectionId(small(rows, 1)),
                                .member = static_cast<uint16_t>(rows.integer(2)),
                                .source = RankId(small(rows, 3)),
                                .destination = RankId(small(rows, 4)),
                                .rate = Bandwidth(rows.integer(5)),
                                .lowest_rate = Bandwidth(rows.integer(6)),
                                .window = bytes_of(rows.optional_integer(7)),
                                .smallest_window = bytes_of(rows.optional_integer(8))});
  return rates;
}

}  // namespace rankwire
