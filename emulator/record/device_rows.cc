#include "emulator/record/device_rows.h"

#include <fmt/format.h>

#include <utility>

#include "emulator/record/columns.h"
#include "emulator/record/reader.h"
#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

std::optional<int64_t> ps_of(const std::optional<Duration>& duration) {
  return duration ? std::optional(duration->ps) : std::nullopt;
}

std::optional<Duration> duration_of(const std::optional<int64_t>& ps) {
  return ps ? std::optional(Duration(*ps)) : std::nullopt;
}

}  // namespace

void RunStore::device_counters(uint32_t run, const DeviceCounters& all) {
  open();
  for (const char* table : {"devices", "device_counters", "device_samples"})
    database_.prepare(fmt::format("DELETE FROM {} WHERE run=?", table)).bind(run).execute();
  Statement device = database_.prepare("INSERT INTO devices VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
  for (size_t i = 0; i < all.devices.size(); ++i) {
    const DeviceInfo& d = all.devices[i];
    device
        .bind(run, uint64_t{i}, d.name, d.kind, d.samples, d.failures, d.samples_together, d.lost, int{d.stamped},
              d.clock_ahead_ns, ps_of(d.round_trip), d.clock_steps)
        .execute();
  }
  Statement counter = database_.prepare("INSERT INTO device_counters VALUES(?,?,?,?,?,?,?,?)");
  Statement sample = database_.prepare("INSERT INTO device_samples VALUES(?,?,?,?,?)");
  for (size_t i = 0; i < all.counters.size(); ++i) {
    const DeviceCounterRows& c = all.counters[i];
    counter.bind(run, uint64_t{i}, c.device, c.port, c.own_port, c.queue, c.name, to_string(c.metric)).execute();
    for (const DeviceValueRow& row : c.values)
      sample.bind(run, uint64_t{i}, row.time.ps, ps_of(row.error), row.value).execute();
  }
}

DeviceCounters RunReader::device_counters(const RecordedRun& run) const {
  DeviceCounters all;
  if (!has_table("devices")) return all;
  Statement devices = database_.prepare(
      "SELECT name, kind, samples, failures, samples_together, rows_lost, stamped, clock_ahead_ns, round_trip_ps, "
      "clock_steps FROM devices WHERE run=? ORDER BY device");
  devices.bind(run.run);
  while (devices.step())
    all.devices.push_back({.name = devices.text(0),
                           .kind = devices.text(1),
                           .samples = count(devices, 2),
                           .failures = count(devices, 3),
                           .samples_together = count(devices, 4),
                           .lost = count(devices, 5),
                           .stamped = devices.integer(6) != 0,
                           .clock_ahead_ns = devices.optional_integer(7),
                           .round_trip = duration_of(devices.optional_integer(8)),
                           .clock_steps = small(devices, 9)});
  Statement counters = database_.prepare(
      "SELECT device, port, own_port, queue, name, metric FROM device_counters WHERE run=? ORDER BY counter");
  counters.bind(run.run);
  while (counters.step())
    all.counters.push_back({.device = small(counters, 0),
                            .port = counters.text(1),
                            .own_port = counters.text(2),
                            .queue = counters.text(3),
                            .name = counters.text(4),
                            .metric = device_metric(counters.text(5)).value_or(DeviceMetric::kOther),
                            .values = {}});
  Statement samples = database_.prepare(
      "SELECT counter, time_ps, error_ps, value FROM device_samples WHERE run=? ORDER BY counter, rowid");
  samples.bind(run.run);
  while (samples.step()) {
    const size_t of = count(samples, 0);
    if (of >= all.counters.size()) continue;
    all.counters[of].values.push_back(
        {Time(samples.integer(1)), duration_of(samples.optional_integer(2)), count(samples, 3)});
  }
  std::erase_if(all.counters, [&](const DeviceCounterRows& c) { return c.device >= all.devices.size(); });
  return all;
}

}  // namespace rankwire
