// Which executions a user should look at first.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// How much longer an execution took than in the reference; absent unless both sides have it.
std::optional<Duration> extra_time(const OperationRow& row);

/// Whether the network is answerable for the duration: communication, but no receive. A receive is posted early and
/// waits for its sender; what the transfer itself took is the duration of the send.
bool shows_the_network(std::string_view kind);

/// Extra time of 1 % of the reference or 10 us, whichever is less; below that it is not worth a line.
bool is_noteworthy(Duration extra, Duration reference);

/// Of each distinct (job, name, kind) the execution with the largest key, and of those the `limit` largest: exact,
/// whatever the number of names, in memory for 2 `limit` rows.
class TopOperations {
 public:
  explicit TopOperations(size_t limit) : limit_(limit) {}

  void add(const OperationRow& row, Duration key);
  /// Largest key first; equal ones in order of (iteration, rank, node).
  std::vector<OperationRow> list() const;

 private:
  struct Entry {
    Duration key;
    OperationRow row;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Entries = std::unordered_map<std::string, Entry, TextHash, std::equal_to<>>;

  static bool before(const Entry& a, const Entry& b);
  std::vector<const Entries::value_type*> sorted() const;
  void prune();

  const size_t limit_;
  Duration floor_ = Duration(std::numeric_limits<int64_t>::min());  // nothing at or below it can be listed
  std::string name_;
  Entries entries_;
};

}  // namespace rankwire
