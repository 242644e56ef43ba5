// The timeline of `report.html`: a picture for whoever has no scripts, and the operations as data for the one that
// zooms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "emulator/record/reader.h"
#include "emulator/report/picture.h"

namespace rankwire {

/// The most executions of which the page has the data, both sides together one: about 4.5 MB. Beyond it the longest
/// are.
constexpr size_t kMostPageOperations = 100'000;

/// The longest executions of a record, by the side on which they took longer; of equal ones the first that were added.
/// Takes some 25 MB at most, however many there are.
class PageOperations {
 public:
  explicit PageOperations(size_t most = kMostPageOperations) : most_(most) {}

  void add(const OperationRow& row);

  /// JSON that may stand in a `<script>`, all in ASCII. `columns` has a text of numbers for each property of
  /// executions, in order of (rank, start): differences to the number before, the first to 0, in the base 64 VLQ of
  /// source maps. So are the numbers of characters that a name shares with the name before it. All times in
  /// picoseconds. docs/metrics.md has the fields.
  std::string json(const RunReader& record, Time end) const;

  /// A row of `json`, by what its messages are told. Valid while nothing is added.
  struct Row {
    RankId rank, peer;
    JobId job;
    uint32_t iteration = 0, sequence = 0;
    const std::string* kind = nullptr;
    const std::string* group = nullptr;
    const std::optional<OperationTimes>* emulated = nullptr;
    const std::optional<OperationTimes>* reference = nullptr;
  };
  /// In the order of `json`.
  std::vector<Row> rows() const;

  static constexpr size_t kLongestName = 200;          ///< bytes of UTF-8; longer ones are cut
  static constexpr size_t kMostNameBytes = 1'000'000;  ///< of all names; beyond it they are cut at 100, 50 and 25

 private:
  struct Kept {
    Duration longest;
    uint64_t order;
    uint32_t rank, iteration, kind, group;
    JobId job;
    RankId peer;
    uint32_t sequence;
    uint64_t id;
    Bytes bytes;
    std::optional<OperationTimes> emulated, reference;
    std::string name;
    /// Earlier where it took longer.
    bool operator<(const Kept& other) const {
      return longest != other.longest ? longest > other.longest : order < other.order;
    }
    Time start() const { return emulated ? emulated->start : reference->start; }
  };
  /// Numbers for texts of which there are few.
  struct Dictionary {
    std::map<std::string, uint32_t, std::less<>> numbers;
    uint32_t operator()(std::string_view text);
    std::vector<std::string> texts() const;
    /// By number, whole.
    std::vector<const std::string*> whole() const;
  };
  std::vector<const Kept*> in_order() const;

  size_t most_;
  uint64_t count_ = 0;
  std::vector<Kept> kept_;  // once full a heap, its first the one that goes next
  Dictionary kinds_, groups_;
};

/// Empty when no operation took time.
std::string html_timeline(const RunReader& record, const RecordActivity& activity, const PageOperations& operations);

}  // namespace rankwire
