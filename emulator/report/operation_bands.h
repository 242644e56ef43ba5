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
  explicit OperationBands(const RunReader& record);

  /// Null where the record has none: without an ensemble, and of what OperationStatistics calls "(other)".
  const ReferenceBand* of(const NodeInfo& node);
  /// `name` and `group` with # for each number.
  const ReferenceBand* of_pattern(std::string_view name, std::string_view kind, std::string_view group, JobId job);

 private:
  const ReferenceBand* find() const;

  std::unordered_map<std::string, ReferenceBand> bands_;
  std::string key_;
};

}  // namespace rankwire
