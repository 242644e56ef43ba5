// What the embedded switch measures in memory, told to the recorder while the run goes on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/fabric_capture.h"
#include "dataplane/fabric_series.h"
#include "emulator/cli/capture_file.h"
#include "emulator/record/live_measurements.h"

namespace rankwire {

/// A row of the record.
QueueSampleRow queue_sample_row(const FabricSample& sample);

class LiveFabric final : public LiveMeasurements {
 public:
  /// Both may be null, and outlive this. `ports`: names by number.
  LiveFabric(const FabricSeries* series, CaptureFile* capture, std::vector<std::string> ports)
      : series_(series), capture_(capture), ports_(std::move(ports)) {}

  std::optional<QueueUpdate> queue_update(size_t most) override;
  void save_captured() override {
    if (capture_ != nullptr) capture_->append();
  }

 private:
  const FabricSeries* series_;
  CaptureFile* capture_;
  const std::vector<std::string> ports_;
  SeriesCursor cursor_;
  std::vector<FabricSample> part_;
};

}  // namespace rankwire
