// What a check of traces has found, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rankwire {

enum class Severity : uint8_t {
  kError,    ///< the set cannot be run, or what would run is not what was recorded
  kWarning,  ///< suspicious: it may be meant so
  kNote,     ///< nothing is wrong for rankwire; others may stumble over it
};
const char* to_string(Severity severity);

/// One kind of mistake. `code` is stable.
struct Symptom {
  const char* code;
  Severity severity;
  const char* meaning;  ///< what follows from it
  const char* right;    ///< what would be right, or what to do
};

/// All kinds of mistakes, in the order of docs/traces.md.
std::span<const Symptom> symptoms();
/// The code must be one of them.
const Symptom& symptom(const char* code);

/// One kind of mistake in one file, or in a set where no file is to blame.
struct Finding {
  static constexpr size_t kMostNodes = 16;

  const Symptom* symptom = nullptr;
  std::string file;              ///< or the name of the set
  std::optional<uint32_t> rank;  ///< absent where it concerns the set
  std::vector<uint64_t> nodes;   ///< ids, at most kMostNodes
  uint64_t count = 0;            ///< how often: of nodes, where it is about nodes
  std::string what;              ///< the first occurrence in words

  Severity severity() const { return symptom->severity; }
};

/// Gathers findings; those of one kind in one file become one.
class Findings {
 public:
  /// The first occurrence gives the words.
  void add(const char* code, const std::string& file, std::optional<uint32_t> rank, std::optional<uint64_t> node,
           const std::string& what);
  const std::vector<Finding>& list() const { return list_; }
  uint64_t count(Severity severity) const;
  bool has(const char* code) const;
  /// Worst first, otherwise in the order in which they were added.
  void sort();

 private:
  std::vector<Finding> list_;
};

nlohmann::ordered_json to_json(const Finding& finding);
/// For people: each kind of mistake once, with its first file and how many more have it. `notes`: list those too.
std::string to_text(const std::vector<Finding>& findings, bool notes);

}  // namespace rankwire
