#include "emulator/cli/live_fabric.h"

#include <span>

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

std::optional<QueueUpdate> LiveFabric::queue_update(size_t most) {
  if (series_ == nullptr) return std::nullopt;
  part_.resize(most);
  const SeriesPart part = series_->read(cursor_, part_);
  if (part.rows == 0) return std::nullopt;
  QueueUpdate update{.anew = part.anew, .interval = part.interval, .lost = part.lost, .ports = ports_};
  for (const FabricSample& sample : std::span(part_).first(part.rows)) update.rows.push_back(queue_sample_row(sample));
  return update;
}

}  // namespace rankwire
