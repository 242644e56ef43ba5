// One collective measured over sizes (`workload.generate.kind: collective`): the figures of nccl-tests' table, emulated
// beside the reference.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/measured_collective.h"
#include "emulator/record/reader.h"
#include "emulator/report/band.h"
#include "emulator/report/operation_bands.h"

namespace rankwire {

/// The measured calls of one size on one side. A call's time is that of one rank, from the start of its first node to
/// the end of its last one; quantiles are of the nearest rank.
struct CollectiveSide {
  uint64_t calls = 0;  ///< of all ranks
  Duration mean;       ///< over iterations, of the ranks that CollectiveTable::average says
  Duration p50, p95, p99;
  MeasuredBandwidth bandwidth;  ///< of the mean
};

struct CollectiveRow {
  Bytes size;
  int64_t count = 0;                             ///< elements of the call, of each part where there are parts
  std::optional<CollectiveSide> emulated = {};   ///< the twin's where it stands for an emulated run
  std::optional<CollectiveSide> reference = {};  ///< absent where it did not run or come so far
  /// Of means over iterations and ranks; absent without an ensemble, of SENDs and RECVs, and with another `average`.
  std::optional<ReferenceBand> band = {};
  /// Messages of this size whose payload was not theirs, in calls that warm up, too; absent where that is not known.
  std::optional<uint64_t> wrong = {};

  std::optional<double> ratio() const;
};

struct CollectiveTable {
  MeasuredCollective collective = MeasuredCollective::kAllReduce;
  uint32_t ranks = 0, warmup = 0, iterations = 0;
  std::string type, redop;       ///< redop: "none" where nothing is reduced
  int64_t root = -1;             ///< -1: it has none
  std::string average = "mean";  ///< one of measured_averages()
  /// Messages whose payload was not theirs, in the whole run. Absent where payload was not compared, or the run has not
  /// ended.
  std::optional<uint64_t> wrong = {};
  bool is_emulated = false;              ///< or by the twin; else all times are the reference's
  uint64_t calls = 0;                    ///< of a size, of all ranks, where all have ended
  std::vector<CollectiveRow> rows = {};  ///< by size, those of which a call has ended on either side

  /// What the times of a row are of: null where the emulated run did not come so far.
  const CollectiveSide* principal(const CollectiveRow& row) const;
  /// That not all of the row's calls have ended on its principal side.
  bool is_cut_short(const CollectiveRow& row) const;
  /// The mean of the bus bandwidths of sizes that have a principal side, in GB/s; absent without any.
  std::optional<double> average_bus() const;
};

/// Is given all operations of a record, in the order of RunReader::for_each_operation. Keeps 8 bytes for each measured
/// call of each rank and side.
class CollectiveStatistics {
 public:
  explicit CollectiveStatistics(const RunReader& record);
  void add(const OperationRow& row);
  /// Absent where the run measured no collective.
  std::optional<CollectiveTable> finish() &&;

 private:
  enum Side : size_t { kEmulated, kReference };
  /// What has been seen of one call of one rank.
  struct Open {
    uint32_t iteration = 0;
    RankId rank;
    MeasuredCall call;
    struct Times {
      uint32_t nodes = 0;
      Time start, end;
    };
    std::array<Times, 2> sides = {};
  };
  struct OfRank {
    int64_t sum = 0, calls = 0;  ///< of one rank's times, in picoseconds
  };
  struct OfSize {
    std::array<std::vector<int64_t>, 2> times;  ///< in picoseconds, by Side
    std::array<std::vector<OfRank>, 2> ranks;   ///< by Side and rank; none where the mean of all is asked for
    std::optional<ReferenceBand> band;
  };

  void close();
  void count_wrong(const RunReader& record);
  std::optional<Duration> average_of(const OfSize& of, Side side) const;
  /// Absent where no call has ended. Sorts the times.
  std::optional<CollectiveSide> side_of(OfSize& of, Side side, Bytes size) const;

  std::optional<CollectiveTable> table_;
  uint32_t nodes_of_call_ = 1;
  Bytes element_ = Bytes(1);
  std::optional<OperationBands> bands_;
  std::optional<Open> open_;
  std::map<Bytes, OfSize> sizes_;
  std::map<Bytes, uint64_t> wrong_;
  uint64_t unplaced_wrong_ = 0;  ///< messages of no call
};

}  // namespace rankwire
