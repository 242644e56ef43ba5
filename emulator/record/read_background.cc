// RunReader's view of traffic without a trace.
#include <fmt/format.h>

#include "emulator/record/columns.h"
#include "emulator/record/reader.h"
#include "emulator/record/record_version.h"

namespace rankwire {
namespace {

std::optional<Time> background_time(const Statement& row, int column) {
  const std::optional<int64_t> ps = row.optional_integer(column);
  return ps ? std::optional(Time(*ps)) : std::nullopt;
}

}  // namespace

void RunReader::read_background() {
  if (!has_table("background")) return;
  Statement rows = database_.prepare(
      "SELECT job, name, pattern, flows, mean_bytes, rate_bps, message_limit, start_ps, stop_ps FROM background "
      "ORDER BY job");
  while (rows.step()) {
    const std::optional<int64_t> rate = rows.optional_integer(5);
    background_.push_back({.job = JobId(small(rows, 0)),
                           .name = rows.text(1),
                           .pattern = rows.text(2),
                           .flows = small(rows, 3),
                           .mean = Bytes(rows.integer(4)),
                           .rate = rate ? std::optional(Bandwidth(*rate)) : std::nullopt,
                           .limit = small(rows, 6),
                           .start = Time(rows.integer(7)),
                           .stop = background_time(rows, 8)});
  }
  Statement ends = database_.prepare("SELECT rank, name FROM background_ends");
  while (ends.step()) background_ends_[RankId(small(ends, 0))] = ends.text(1);
}

void RunReader::read_background_traffic(RecordedRun& run) const {
  if (!has_table("background_traffic")) return;
  Statement rows = database_.prepare(fmt::format(
      "SELECT offered, posted, acknowledged, delivered, failed, bytes_offered, bytes_posted, bytes_delivered, "
      "payload_errors, failed_flows, count, p50_ps, p95_ps, p99_ps, p999_ps, max_ps, last_delivery_ps, {} "
      "FROM background_traffic WHERE run=? ORDER BY job",
      column_or(database_, "background_traffic", "first_arrival_ps", "NULL")));
  rows.bind(run.run);
  while (rows.step())
    run.end.background.push_back({.offered = count(rows, 0),
                                  .posted = count(rows, 1),
                                  .acknowledged = count(rows, 2),
                                  .delivered = count(rows, 3),
                                  .failed = count(rows, 4),
                                  .bytes_offered = Bytes(rows.integer(5)),
                                  .bytes_posted = Bytes(rows.integer(6)),
                                  .bytes_delivered = Bytes(rows.integer(7)),
                                  .payload_errors = count(rows, 8),
                                  .failed_flows = count(rows, 9),
                                  .completion = latency_at(rows, 10),
                                  .first_arrival = background_time(rows, 17),
                                  .last_delivery = background_time(rows, 16)});
}

}  // namespace rankwire
