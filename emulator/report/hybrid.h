// A run of which only some ranks are on wires: beside the whole job, modelled and in the twin.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

struct Hybrid {
  std::vector<uint32_t> hosts;                   ///< on wires, ascending
  std::optional<Duration> run, reference, twin;  ///< completion: of the run, and of the whole job by these models;
                                                 ///< absent where they did not run or did not end well

  /// By how much the run takes longer than the twin of the whole, of what that takes: the truth, as far as one is
  /// known.
  std::optional<double> error() const { return beside_twin(run); }
  /// The same of the reference, which models all.
  std::optional<double> reference_error() const { return beside_twin(reference); }

 private:
  std::optional<double> beside_twin(std::optional<Duration> time) const;
};

/// Absent where all are on wires because nothing else is said.
std::optional<Hybrid> read_hybrid(const RunReader& record);

/// `hybrid` of summary.json; null where the configuration has none.
nlohmann::ordered_json hybrid_json(const RunReader& record);
/// A line of the printed summary and a sentence of the page; empty where the configuration has none.
std::string hybrid_text(const RunReader& record);

}  // namespace rankwire
