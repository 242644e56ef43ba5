// A run whose time is stretched: what its device, which is not, does to the result.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// What a model says of the network on the wires and of the one that the job would have.
struct StretchedPrediction {
  std::string model;  ///< "flow" or "twin"
  Duration on_wires, stretched;

  /// By how much the job would take longer, of what it takes on the wires.
  double difference() const;
};

struct Dilation {
  /// A difference that is larger, of the time on the wires, is one that matters.
  static constexpr double kMatters = 0.01;

  uint32_t factor = 1;                           ///< seconds on the wall for each of the job
  std::vector<StretchedPrediction> predictions;  ///< empty where nothing differs, or no model that knows has ended well

  /// Absent without a prediction.
  std::optional<bool> matters() const;
};

/// Absent where time is not stretched.
std::optional<Dilation> read_dilation(const RunReader& record);

/// `dilation` of summary.json; null where time is not stretched.
nlohmann::ordered_json dilation_json(const RunReader& record);
/// A line of the printed summary and a sentence of the page; empty where time is not stretched.
std::string dilation_text(const RunReader& record);

}  // namespace rankwire
