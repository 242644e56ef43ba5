// What storage does for a training job, as a description has it; see storage.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rankwire {

struct StorageModel {
  enum class Placement : uint8_t { kStriped, kHashed };
  /// Of what several ranks have in common: the first of them writes it, or each a part.
  enum class Writers : uint8_t { kFirst, kAll };

  uint32_t ranks = 0;  ///< 0: there is no storage
  Placement placement = Placement::kStriped;
  Bytes stripe = Bytes(1 << 20);
  uint64_t seed = 1;                   ///< of kHashed
  std::optional<Bandwidth> bandwidth;  ///< at which a storage rank reads and writes; absent: at once

  Bytes sample;           ///< of one sequence; 0: none are read
  uint32_t prefetch = 2;  ///< steps whose samples are asked for ahead of the one that is computed

  uint32_t every = 0;             ///< steps from checkpoint to checkpoint; 0: none
  bool asynchronous = false;      ///< the next steps go on beside it
  std::optional<Bandwidth> copy;  ///< if `asynchronous`, at which a rank copies its state before; absent: at once
  uint32_t optimizer_bytes = 12;  ///< of optimizer state a parameter
  Writers writers = Writers::kFirst;
  bool restore = false;  ///< the first step begins with the state read

  bool operator==(const StorageModel&) const = default;
};

}  // namespace rankwire
