// What the embedded switch measures in memory, told to the recorder while the run goes on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/switch/capture.h"
#include "dataplane/switch/series.h"
#include "dataplane/switch/storms.h"
#include "emulator/assembly/capture_file.h"
#include "emulator/record/live_measurements.h"

namespace rankwire {

/// A row of the record.
QueueSampleRow queue_sample_row(const FabricSample& sample);
/// `ports`: names by number.
StormRow storm_row(const FabricStorm& storm, std::span<const std::string> ports);

class LiveFabric final : public LiveMeasurements {
 public:
  /// All outlive this; `series` and `capture` may be null. `ports`: names by number.
  LiveFabric(const FabricSeries* series, const FabricStorms& storms, CaptureFile* capture,
             std::vector<std::string> ports)
      : series_(series), storms_(storms), capture_(capture), ports_(std::move(ports)) {}

  std::optional<QueueUpdate> queue_update(size_t most) override;
  std::vector<StormUpdate> storm_update() override;
  void save_captured() override {
    if (capture_ != nullptr) capture_->append();
  }

 private:
  const FabricSeries* series_;
  const FabricStorms& storms_;
  CaptureFile* capture_;
  const std::vector<std::string> ports_;
  SeriesCursor cursor_;
  std::vector<FabricSample> part_;
  std::vector<FabricStorm> told_;
};

}  // namespace rankwire
