// What a record as a whole says: its verdict, and whether the generator or the device set the pace.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// Why a run ended, as one word: `reason_code` of docs/metrics.md.
std::string reason_code(const RunReader& record, const RecordedRun& run);

/// Whether the connection could not be made: what failed is no message.
inline bool is_unconnected(const FailureRow& failure) {
  return failure.operation.empty() && failure.message.empty();
}

/// What is said of a ratio that is above its limit by `excess`, `gap` longer than the reference, where the generator's
/// lateness is why nothing can be told of the network: ", by 3 ms, which ...". Lateness is that of the worst port, and
/// several ports' may have followed one another: where it is half of the gap the rest is no proof, either, unless the
/// limit is below the reference. Empty where it is less than both.
std::string explained_by_lateness(Duration excess, Duration gap, Duration late);

/// Whether a pipeline may go on with a verdict.
inline bool passes(std::string_view verdict) {
  return verdict == "ok" || verdict == "degraded";
}
/// What a pipeline is told of a verdict: 0 where it may go on, 3 where it cannot be told ("inconclusive"), else 1.
inline int exit_status(std::string_view verdict) {
  return passes(verdict) ? 0 : verdict == "inconclusive" ? 3 : 1;
}
/// Of several: 1 before 3 before 0.
inline int worse_status(int a, int b) {
  return a == 1 || b == 1 ? 1 : std::max(a, b);
}

/// The verdict of the first run, emulated before references, that is not "ok"; "interrupted" when the record has no
/// run. When all are ok: "failed" if something else that the configuration asks for was not run, or the emulated side
/// broke a limit of the configuration; "inconclusive" if it kept or broke one by less than the generator adds of its
/// own, as far as that was certified, or by less than the reference's band is wide; "degraded" if it lost packets or
/// had time-outs that no limit allows; else "ok".
struct RecordVerdict {
  std::string verdict, reason, code;

  bool passes() const { return rankwire::passes(verdict); }
};
/// Of repetitions (`run.repeat`): that of the first that failed or stalled, else of the first that was interrupted;
/// "interrupted" where not all took place; else that of the reference, and then the first that broke a limit or is
/// degraded.
RecordVerdict verdict_of(const RunReader& record);
/// That of the emulated side alone, which there is; of repetitions, that of the one that is shown.
RecordVerdict emulated_verdict(const RunReader& record);

/// "generator_limited" when at least one reason applies: the result stands, but the device is not to be blamed for it.
/// "unknown" of an emulated side without an end. The rules are in docs/metrics.md, "Fidelity".
struct FidelityAssessment {
  std::string fidelity;  ///< "ok", "generator_limited" or "unknown"
  std::vector<std::string> reasons;
};
FidelityAssessment assess_fidelity(const RunReader& record);

/// The run whose messages and bytes stand for the record: the emulated side when it has ended and did not throw, else
/// the reference, else null.
const RecordedRun* principal_run(const RunReader& record);

/// Who is to be blamed for the times, in one sentence for a person.
std::string explain_fidelity(const RunReader& record);

/// Not so of a run that was interrupted before its turn came, or whose connections could not be made: it has no
/// figures, not even zeros.
bool did_anything(const RecordedRun& run);
/// How far the run came; absent unless it has ended and did anything.
std::optional<Duration> completion_of(const RunReader& record, const RecordedRun* run);
/// Of a run that has ended: its completion time if it is ok, else when it last made progress, which is later than the
/// last end of an operation where messages came through that ended none. Where the record does not tell, as of a run
/// that ended by itself, it is that end.
Duration time_reached(const RunReader& record, const RecordedRun& run);
/// Emulated over reference completion time; absent unless both runs are "ok", because a run that stopped early has no
/// completion time to compare.
std::optional<double> completion_ratio(const RunReader& record);
/// "10.53 s emulated, 5.869 s reference, ratio 1.794", or "ratio 1.002 of the band's median"; "failed after 945 ms
/// emulated, ..." where a run was not "ok", and "reference not run" where its turn never came.
std::string describe_completion(const RunReader& record);

/// The recorded warnings, and one for each kind of rows that the record lacks.
std::vector<std::string> all_warnings(const RunReader& record);

}  // namespace rankwire
