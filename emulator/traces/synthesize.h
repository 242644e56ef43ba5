// Traces that a model describes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "emulator/traces/trace_model.h"

namespace rankwire {

struct SynthesisOptions {
  std::optional<uint32_t> ranks;  ///< a multiple or a divisor of the family's; absent: as many
  std::optional<uint32_t> role;   ///< whose groups grow or shrink; absent: the one that `widest_role` finds
  /// With other ranks, all together compute and send what those of the model did (strong scaling); else each does.
  bool same_work = false;
  uint64_t seed = 1;  ///< of durations
  std::string prefix;
  std::string place = "the model: ";  ///< where the family is written: what errors about it begin with
  /// Called when all files are there, before they stay: none does where it throws. Absent: they are right.
  std::function<void()> check;
};

struct SynthesizedSet {
  uint32_t ranks = 0;
  uint64_t nodes = 0;
  size_t groups = 0;
  std::optional<uint32_t> role;  ///< that grew or shrank
};

/// Of the named roles whose members run one program, the one whose members are furthest apart: usually that of
/// data-parallel replicas. Stages of a pipeline run different ones. Absent where there is none with two members.
std::optional<uint32_t> widest_role(const ModelFamily& family);

/// Writes PREFIX.<rank>.et and, unless no group has a name, PREFIX.json; one rank after the other.
///
/// More ranks: copies of all, as `replicate` numbers them. Fewer: of each group of the role the first members stay, and
/// ranks are numbered anew in their order. Groups of the role, of all ranks, and without a name have the members of all
/// copies, and a rank's input of their all-gathers and gathers is in inverse proportion to their members. With
/// `same_work` so are durations of what computes, its operations and bytes, and sizes of all that is not exchanged by
/// groups that have the members of all copies: what these exchange, such as gradients, stays as large. All else keeps
/// its size. Durations are drawn from those of the operation, evenly: the n-th of a rank lies n golden sections
/// further, so that sums hold. Equal models, options and seeds give equal files.
///
/// Throws Error(kInput) for another number of ranks, a role that cannot shrink so far or whose removal would leave a
/// message without its other end, and files that exist; Error(kRun) when one cannot be written.
SynthesizedSet synthesize(const ModelFamily& family, const SynthesisOptions& options);

}  // namespace rankwire
