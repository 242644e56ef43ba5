// Two records side by side: what was set differently, and what came of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/reader.h"
#include "emulator/report/assessment.h"
#include "emulator/report/comparison_sides.h"
#include "emulator/report/critical_path.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/repeated_comparison.h"
#include "emulator/report/requests.h"
#include "emulator/report/settings.h"

namespace rankwire {

/// A value that two records have, or one of them.
template <class T>
struct BaseAndOther {
  T base{}, other{};
};

struct Comparison {
  /// All executions of the operations of one pattern (see OperationGroup).
  struct Operation {
    std::string name, kind, group;
    std::string job;  ///< its name; empty where the record has fewer than two
    BaseAndOther<uint64_t> count;
    BaseAndOther<std::optional<Duration>> mean;  ///< absent where the record has none of them

    /// Time that all executions of the other take longer than as many of the base's, rank by rank added up.
    std::optional<Duration> extra() const;
  };
  /// A job by its name.
  struct Job {
    std::string name;
    BaseAndOther<std::optional<Duration>> completion;  ///< absent where the record has none

    /// Other completion time over base's.
    std::optional<double> ratio() const;
  };
  struct Counter {
    std::string name;
    BaseAndOther<uint64_t> value;
  };

  /// Why either takes as long as it does.
  struct Reasons {
    std::optional<PathMain> path;        ///< of the side that is compared; absent: it has no path
    std::optional<Waterfall> waterfall;  ///< against its own reference; absent: unknown, or there is none
    std::string reference;               ///< the model that this is a run of; empty where there is none
  };

  const char* side = "";              ///< of both records: "emulated", "twin" or "reference"
  bool varies = false;                ///< one side at least is in real time: another run of it would take another time
  BaseAndOther<size_t> runs;          ///< on either side; `folder` is of the one that stands for all
  std::optional<std::string> unlike;  ///< why the completion times cannot be compared; absent: the work is the same
  BaseAndOther<std::vector<std::string>> mixed;  ///< keys that differ among the runs of one side
  BaseAndOther<FidelityAssessment> fidelity;
  BaseAndOther<std::string> folder, verdict;
  BaseAndOther<std::optional<Duration>> completion;  ///< absent unless the verdict is "ok"
  BaseAndOther<std::optional<MessageLatency>> messages;
  BaseAndOther<std::optional<RequestFigures>> requests;
  BaseAndOther<Reasons> reasons;
  std::optional<RepeatedComparison> repeated;
  std::vector<Job> jobs;                   ///< of either record, in the order of the base's
  std::vector<DifferentSetting> settings;  ///< that differ, in the order of their keys
  std::vector<Operation> operations;       ///< most changed first
  std::vector<Counter> counters;           ///< that differ

  /// Other completion time over base's.
  std::optional<double> ratio() const;
};

/// Compares the emulated sides of two records, of which a twin is one, or the references where neither has another. Of
/// several on a side the median one, and of repetitions the one that is shown, but for what `repeated` says of all.
/// Neither is empty. Throws Error(kInput) naming both folders when they have no side in common.
Comparison compare(const RunRecords& bases, const RunRecords& others);

/// Fields are described in docs/metrics.md.
nlohmann::ordered_json comparison_json(const Comparison& comparison);
/// For people: at most ten operations. Ends with a newline.
std::string comparison_table(const Comparison& comparison);

}  // namespace rankwire
