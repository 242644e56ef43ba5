// What a set of traces still tells a reader who knows public models.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "proto/chakra.pb.h"

namespace rankwire {

/// A public model that sizes of messages agree with.
struct ModelMatch {
  std::string model;
  uint64_t operations = 0;  ///< nodes that communicate and whose size only such factors explain
};

/// Takes in the nodes of all ranks of a set, and says what is in them.
class Exposure {
 public:
  void add(const chakra::Node& node);

  /// Public models whose dimensions are factors of sizes, most operations first. A size counts for a model when its odd
  /// part is that of the model's width, of a matrix of it or of its vocabulary, and is not 1: what is a power of two
  /// fits all.
  std::vector<ModelMatch> matches() const;
  /// Keys as docs/traces.md has them.
  nlohmann::ordered_json to_json() const;
  std::string to_text() const;

 private:
  uint64_t nodes_ = 0, dependencies_ = 0, starts_ = 0, sized_ = 0;
  std::set<std::string> names_;
  std::map<std::string, uint64_t> types_, attributes_;
  std::map<uint64_t, uint64_t> sizes_;  ///< of communication: how many nodes
  std::set<uint64_t> durations_;
};

}  // namespace rankwire
