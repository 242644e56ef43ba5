// What an analyser behind the device's mirrored port has seen, which the lab's hook `mirror` tells.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "emulator/bmwg/bench.h"
#include "emulator/bmwg/outcome.h"

namespace rankwire {

/// Frames that have passed the mirrored port since the analyser began to count, by kMirrored; empty: there is no hook.
using MirrorCounts = std::map<std::string, double>;

/// Of what the command printed. Throws Error(kInput) for what is no count of these: `packets` (RoCEv2 data), `marked`
/// (of them, CE), `cnps`, `pauses` (PFC and PAUSE), `out_of_order` (of the packets, behind a later one of their queue
/// pair). One at least is expected.
MirrorCounts mirror_counts(const nlohmann::ordered_json& printed);

/// The same between two looks. Throws Error(kInput) for one that is missing later or has fallen.
MirrorCounts mirrored_since(const MirrorCounts& before, const MirrorCounts& after);

/// Looks at the mirrored port before a run and after it.
class MirrorLook {
 public:
  /// Throws Error(kRun) where the hook fails or prints something else. `bench` outlives it.
  explicit MirrorLook(const BmwgBench& bench);
  /// What has passed since; empty without a hook. Throws likewise.
  MirrorCounts since() const;

 private:
  MirrorCounts look() const;

  const BmwgBench& bench_;
  MirrorCounts before_;
};

/// Adds what passed the mirrored port to the measurements of a run: counts, and shares of `packets`.
void add_mirrored(BmwgOutcome& outcome, const MirrorCounts& seen, const std::string& subject);

}  // namespace rankwire
