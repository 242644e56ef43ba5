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
  /// What each is: the median of an ensemble, or of one run.
  size_t runs_on_wires = 1, runs_stretched = 1;
  /// From the early end (5 %) of the stretched ensemble less the late one (95 %) of that on the wires to the late one
  /// less the early one; absent where these are single runs.
  struct Bound {
    Duration least, most;  ///< stretched - on wires
  };
  std::optional<Bound> bound = {};

  /// By how much the job would take longer, of what it takes on the wires.
  double difference() const { return share(stretched - on_wires); }
  /// Of what it takes on the wires.
  double share(Duration time) const { return static_cast<double>(time.ps) / static_cast<double>(on_wires.ps); }
  /// Whether it is more than the small differences make of it by which the runs of an ensemble differ.
  bool is_resolved() const { return !bound || bound->least.ps > 0 || bound->most.ps < 0; }
};

struct Dilation {
  /// A difference that is larger, of the time on the wires, and resolved, is one that matters.
  static constexpr double kMatters = 0.01;

  uint32_t factor = 1;                           ///< seconds on the wall for each of the job
  std::vector<StretchedPrediction> predictions;  ///< empty where nothing differs, or no model that knows has ended well

  /// The twin where it is there, which knows queues, buffers and marks, else the model that there is; null without a
  /// prediction.
  const StretchedPrediction* decisive() const;
  /// What that says; absent without a prediction.
  std::optional<bool> matters() const;
};

/// Absent where time is not stretched.
std::optional<Dilation> read_dilation(const RunReader& record);

/// `dilation` of summary.json; null where time is not stretched.
nlohmann::ordered_json dilation_json(const RunReader& record);
/// A line of the printed summary and a sentence of the page; empty where time is not stretched.
std::string dilation_text(const RunReader& record);

}  // namespace rankwire
