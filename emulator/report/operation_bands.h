// The reference's band of each kind of operation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "emulator/record/reader.h"
#include "emulator/report/band.h"

namespace rankwire {

/// Of the mean time of all executions whose kind, job and patterns of name and group are the same, over the members of
/// the ensemble.
class OperationBands {
 public:
  /// With bands in the record it reads every operation once.
  explicit OperationBands(const RunReader& record);

  /// Of each execution of the node. Null where the record has none: without an ensemble, and of what
  /// OperationStatistics calls "(other)"; and where executions of the pattern differ in the reference itself by more
  /// than the band is wide and a hundredth of its median: then it says nothing of one of them.
  const ReferenceBand* of(const NodeInfo& node);
  /// Of the mean of all executions of the node's pattern, however much they differ. Null where the record has none.
  const ReferenceBand* of_mean(const NodeInfo& node);
  /// `name` and `group` with # for each number.
  const ReferenceBand* of_pattern(std::string_view name, std::string_view kind, std::string_view group, JobId job);

 private:
  struct Band {
    ReferenceBand band;
    Duration shortest = Duration::max(), longest;  ///< executions in the reference

    bool is_of_each() const;
  };

  void set_key(const NodeInfo& node);
  const Band* find() const;

  std::unordered_map<std::string, Band> bands_;
  std::string key_;
};

}  // namespace rankwire
