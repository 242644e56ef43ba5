// What a RunStore keeps of the embedded fabric: samples of its queues, and pause storms, also while the run lasts.
#include <optional>
#include <vector>

#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

std::optional<int64_t> end_of(const StormRow& storm) {
  return storm.end ? std::optional(storm.end->ps) : std::nullopt;
}

}  // namespace

void RunStore::queue_samples(uint32_t run, const QueueSampling& sampling) {
  forget_queue_samples(run);
  queue_sampling(run, sampling.interval, sampling.rows.size(), sampling.lost);
  queue_rows(run, sampling.ports, sampling.rows);
}

void RunStore::queue_update(uint32_t run, const QueueUpdate& update) {
  open();
  if (update.anew) forget_queue_samples(run);
  uint64_t& samples = live_[run].samples;
  samples += update.rows.size();
  queue_sampling(run, update.interval, samples, update.lost);
  queue_rows(run, update.ports, update.rows);
}

/// What was written of them before the run's end.
void RunStore::forget_queue_samples(uint32_t run) {
  uint64_t& samples = live_[run].samples;
  if (samples == 0) return;
  database_.prepare("DELETE FROM queue_samples WHERE run=?").bind(run).execute();
  samples = 0;
}

void RunStore::queue_sampling(uint32_t run, Duration interval, uint64_t rows, uint64_t lost) {
  database_.prepare("INSERT OR REPLACE INTO queue_sampling VALUES(?,?,?,?)").bind(run, interval, rows, lost).execute();
}

void RunStore::queue_rows(uint32_t run, std::span<const std::string> ports, std::span<const QueueSampleRow> rows) {
  Statement insert = database_.prepare("INSERT INTO queue_samples VALUES(?,?,?,?,?,?,?,?,?,?)");
  for (const QueueSampleRow& row : rows) {
    insert
        .bind(run, row.time.ps, ports[row.port], uint32_t{row.priority}, row.length.count, int{row.paused}, row.marks,
              row.drops, row.xoff_rx, row.xoff_tx)
        .execute();
  }
}

// In place of what was written of them before the run's end.
void RunStore::storms(uint32_t run, std::span<const StormRow> storms) {
  std::vector<int64_t>& live = live_[run].storms;
  if (!live.empty()) database_.prepare("DELETE FROM storms WHERE run=?").bind(run).execute();
  live.clear();
  for (const StormRow& storm : storms) insert_storm(run, storm);
}

void RunStore::storm_update(uint32_t run, std::span<const StormUpdate> updates) {
  open();
  std::vector<int64_t>& live = live_[run].storms;
  for (const auto& [place, storm] : updates) {
    if (place == live.size()) {
      insert_storm(run, storm);
      live.push_back(database_.last_row());
      continue;
    }
    database_.prepare("UPDATE storms SET end_ps=?, dropped=?, forwarded=? WHERE rowid=?")
        .bind(end_of(storm), storm.dropped, storm.forwarded, live[place])
        .execute();
  }
}

void RunStore::connection_cables(std::span<const ConnectionCables> rows) {
  open();
  Statement insert = database_.prepare("INSERT INTO connection_cables VALUES(?,?,?,?,?)");
  for (const ConnectionCables& row : rows)
    insert.bind(row.connection.value, row.out, row.into, row.back_out, row.back_into).execute();
}

void RunStore::insert_storm(uint32_t run, const StormRow& storm) {
  database_.prepare("INSERT INTO storms VALUES(?,?,?,?,?,?,?,?)")
      .bind(run, storm.name, uint32_t{storm.priority}, storm.stuck.ps, storm.begin.ps, end_of(storm), storm.dropped,
            storm.forwarded)
      .execute();
}

}  // namespace rankwire
