// From the keys `record.rate_*` to what transports sample, and from that to the record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/transport.h"
#include "dataplane/roce/rate_series.h"
#include "emulator/input/config.h"
#include "emulator/record/live_measurements.h"
#include "emulator/record/rate_rows.h"

namespace rankwire {

/// One for each worker's transport, which share the rows that are kept; none without `record.rate_interval`.
std::vector<RateSeries> rate_series(const RunConfig& config, uint32_t workers);

/// What all of them have, once their transports have ended; rows of shorter intervals are put together. Absent where
/// there are none.
std::optional<RateSampling> rate_sampling(std::span<RateSeries> series, const TransportPlan& plan);

/// What they have while their transports are at work, told to the recorder.
class LiveRates final : public LiveMeasurements {
 public:
  /// Both outlive this. Of transports whose connections are made.
  LiveRates(std::span<const RateSeries> series, const TransportPlan& plan)
      : series_(series), plan_(plan), cursors_(series.size()) {}

  std::optional<RateUpdate> rate_update(size_t most) override;

 private:
  struct Cursors {
    BoundedSeries<PortSample>::Cursor ports;
    AllowanceSeries::Cursor allowances;
  };

  bool read(size_t most, RateSampling& rates);

  const std::span<const RateSeries> series_;
  const TransportPlan& plan_;
  std::vector<Cursors> cursors_;
  std::vector<PortSample> ports_;
  std::vector<AllowanceSample> allowances_;
};

}  // namespace rankwire
