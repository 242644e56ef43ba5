// Where traces go that are generated, and how many nodes they may have.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace rankwire {

/// `<prefix>.<rank>.et`: where a rank's trace is found by whoever is given the prefix.
std::string trace_file(const std::string& prefix, uint32_t rank);

/// How many nodes may be written, over all files that share the limit; it outlives their writers.
class NodeLimit {
 public:
  /// `beyond` says how more can be had: it ends the message of the error.
  NodeLimit(uint64_t most, std::string beyond) : most_(most), beyond_(std::move(beyond)) {}

  bool exists() const { return most_ < UINT64_MAX; }
  /// Nothing has been counted.
  void restart() { nodes_ = 0; }
  /// One more. Throws Error(kInput) when it is one too many.
  void count() {
    if (++nodes_ > most_) fail();
  }

 private:
  [[noreturn]] void fail() const;

  const uint64_t most_;
  const std::string beyond_;
  uint64_t nodes_ = 0;
};

/// A trace that is going to be written, with or without a limit; or, without a path, one whose nodes are only counted.
struct NodeFile {
  NodeFile(std::string path_, NodeLimit* limit_ = nullptr) : path(std::move(path_)), limit(limit_) {}

  std::string path;
  NodeLimit* limit;
};

/// The traces of all ranks, `<prefix>.<rank>.et`, and their groups, `<prefix>.json`. Without a prefix nothing is
/// written: who generates them learns how many nodes there would be.
struct NodeFiles {
  NodeFiles(std::string prefix_, NodeLimit* limit_ = nullptr) : prefix(std::move(prefix_)), limit(limit_) {}
  static NodeFiles only_counted(NodeLimit* limit) { return {"", limit}; }

  bool written() const { return !prefix.empty(); }
  NodeFile file(uint32_t rank) const { return {written() ? trace_file(prefix, rank) : "", limit}; }

  std::string prefix;
  NodeLimit* limit;
};

}  // namespace rankwire
