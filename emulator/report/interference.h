// How much the jobs of a configuration hold each other up: runs of some of them, as one matrix of victims and
// aggressors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/report/sweep.h"

namespace rankwire {

/// Which jobs are at work in each run, as positions in a list of `jobs` > 1, ascending: first all of them, then each
/// alone, then, with `pairs`, each two where there are more than two.
std::vector<std::vector<uint32_t>> interference_sets(uint32_t jobs, bool pairs);

/// One run of some of the jobs.
struct InterferenceRun {
  /// One side of the record.
  struct Side {
    std::string run;                                  ///< as SweepSide::run
    std::vector<std::optional<Duration>> completion;  ///< JCT of each of `jobs`; absent unless the side is ok
  };

  std::vector<uint32_t> jobs;  ///< at work, as positions in Interference::jobs, ascending
  SweepPoint point;            ///< folder, verdict and reason
  std::string fidelity;        ///< as in summary.json; empty without a record
  std::vector<Side> sides;     ///< in the order in which they ran

  bool has(uint32_t job) const;
};

struct Interference {
  std::string name;  ///< of the configuration
  std::vector<std::string> jobs;
  std::vector<uint32_t> numbers;      ///< of the jobs in the configuration, by position
  std::vector<InterferenceRun> runs;  ///< of `interference_sets`, in that order
};

/// Fills `run` from the record in `folder`, if there is one that can be read. `numbers` as in Interference.
void read_interference_run(InterferenceRun& run, const std::vector<uint32_t>& numbers,
                           const std::filesystem::path& folder);

/// One victim beside one aggressor, or beside all others.
struct InterferenceCell {
  const InterferenceRun* run = nullptr;  ///< of victim and aggressor; null: there is to be none
  std::optional<Duration> completion;    ///< JCT of the victim
  std::optional<Duration> alone;         ///< of the run of the victim alone, on the same side
  std::optional<double> factor;          ///< completion over alone
  std::string missing;                   ///< why there is no factor; empty where there is one
};

/// What one side of all runs says: "emulated", "twin", or a reference. Refers to the Interference, which outlives it.
class InterferenceMatrix {
 public:
  InterferenceMatrix(const Interference& interference, std::string side);

  const std::string& side() const { return side_; }
  std::optional<Duration> alone(uint32_t victim) const;
  /// Two jobs.
  InterferenceCell beside(uint32_t victim, uint32_t aggressor) const;
  InterferenceCell beside_all(uint32_t victim) const;
  /// Whether there are runs of pairs, and one of more.
  bool has_pairs() const;
  bool has_all() const { return interference_.jobs.size() > 2 || !has_pairs(); }

 private:
  InterferenceCell cell(uint32_t victim, const InterferenceRun* run) const;

  const Interference& interference_;
  const std::string side_;
};

/// One for each side that any run has, in the order in which they ran; where there is none, one of "-".
std::vector<InterferenceMatrix> interference_matrices(const Interference& interference);

/// The worst of the runs': 0, 3 or 1, see exit_status(verdict).
int exit_status(const Interference& interference);
/// A line for each run that did not end well, and for each whose pace the generator set.
std::vector<std::string> doubtful_runs(const Interference& interference);
/// A line for each job and side with runs that ended well, and no factors all the same.
std::vector<std::string> jobs_without_factors(const Interference& interference);

/// Fields and columns are described in docs/metrics.md, "Interference".
nlohmann::ordered_json interference_json(const Interference& interference);
std::string interference_csv(const Interference& interference);
/// For people: a matrix for each side, `jobs_without_factors` and `doubtful_runs`. Ends with a newline.
std::string interference_text(const Interference& interference);
/// A page that opens offline: a heat map and a table.
std::string interference_html(const Interference& interference);

}  // namespace rankwire
