// Which chunks of a collective stand where in MSCCL's buffers, before the algorithm and after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "converters/contributors.h"
#include "converters/msccl_text.h"

namespace rankwire {

/// A chunk of the collective, as far as it has been summed.
struct ChunkSum {
  uint32_t chunk = 0;
  Contributors of;  ///< empty: nothing

  bool operator==(const ChunkSum&) const = default;
};

/// "chunk 3 of gpus 0, 1", or "nothing".
std::string described(const ChunkSum& sum);

/// The algorithm must outlive it. Ranks are indexes of GPUs, offsets and sizes are chunks.
class MscclLayout {
 public:
  explicit MscclLayout(const MscclAlgorithm& algorithm)
      : algorithm_(algorithm), ranks_(static_cast<uint32_t>(algorithm.gpus.size())) {}

  bool reduces() const;
  uint32_t output_chunks() const;
  /// Those of the whole collective: see MscclFlow::chunks.
  uint32_t all_chunks() const;
  uint32_t size(uint32_t rank, MscclBuffer buffer) const;
  /// Places of all buffers of a rank.
  size_t places(uint32_t rank) const;
  /// The place of the buffer's offset among those of the rank. In place the input is (part of) the output, or the other
  /// way round.
  size_t place(uint32_t rank, MscclBuffer buffer, uint32_t offset) const;

  /// What the rank's input has there; nothing where it has none.
  std::optional<ChunkSum> input(uint32_t rank, uint32_t offset) const;
  /// What the rank's output must have there in the end; of nobody where it does not matter.
  ChunkSum result(uint32_t rank, uint32_t offset) const;

 private:
  uint32_t input_chunks() const;
  uint32_t share() const { return algorithm_.chunks / ranks_; }

  const MscclAlgorithm& algorithm_;
  uint32_t ranks_;
};

}  // namespace rankwire
