#include "emulator/assembly/live_fabric.h"

#include <utility>

namespace rankwire {

QueueSampleRow queue_sample_row(const FabricSample& sample) {
  return {.time = sample.at,
          .port = sample.port,
          .priority = sample.priority,
          .paused = sample.paused,
          .length = Bytes(sample.length),
          .marks = sample.events.marks,
          .drops = sample.events.drops,
          .xoff_rx = sample.events.xoff_rx,
          .xoff_tx = sample.events.xoff_tx};
}

StormRow storm_row(const FabricStorm& storm, std::span<const std::string> ports) {
  return {.name = ports[storm.port],
          .priority = storm.priority,
          .stuck = storm.stuck,
          .begin = storm.begin,
          .end = storm.end == Time::never() ? std::nullopt : std::optional(storm.end),
          .dropped = storm.dropped,
          .forwarded = storm.forwarded};
}

std::optional<QueueUpdate> LiveFabric::queue_update(size_t most) {
  if (series_ == nullptr) return std::nullopt;
  part_.resize(most);
  const SeriesPart part = series_->read(cursor_, part_);
  if (part.rows == 0) return std::nullopt;
  QueueUpdate update{.anew = part.anew, .interval = part.interval, .lost = part.lost, .ports = ports_};
  for (const FabricSample& sample : std::span(part_).first(part.rows)) update.rows.push_back(queue_sample_row(sample));
  return update;
}

std::vector<StormUpdate> LiveFabric::storm_update() {
  std::vector<FabricStorm> storms = storms_.copy();
  std::vector<StormUpdate> updates;
  for (size_t i = 0; i < storms.size(); ++i)
    if (i >= told_.size() || storms[i] != told_[i]) updates.push_back({i, storm_row(storms[i], ports_)});
  told_ = std::move(storms);
  return updates;
}

}  // namespace rankwire
