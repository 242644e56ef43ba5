// What traces have in common, in a file that people can read and change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rankwire {

/// Groups that are used in the same way: of the same form, and by name of the same sort.
struct ModelRole {
  bool named = true;  ///< false: all ranks, by no name
  std::vector<std::vector<uint32_t>> members;
};

/// An operation that many nodes carry out. What is absent is what nodes do not have.
struct ModelOperation {
  uint32_t type = 0;  ///< chakra::NodeType
  bool on_cpu = false;
  std::optional<int64_t> collective, size, tensor, operations, stream;
  std::optional<uint32_t> role;  ///< of a collective: in ModelFamily::roles
  std::optional<int64_t> root;   ///< of a collective: its place among the members
  std::optional<int64_t> peer;   ///< of a message: rank of the other end, less the own one
  int64_t ahead = 0;           ///< of a RECV: its message's number between the two ranks, less its own among the RECVs
  std::vector<int64_t> after;  ///< dependencies: how many nodes before it in the file each stands; < 0: behind it
  /// Durations in microseconds at equal shares from the least to the most: 1 (always this) to 21. Empty: none.
  std::vector<double> micros;

  bool operator==(const ModelOperation&) const = default;
};

/// A part of a program: an operation, or parts that are carried out one after the other, several times.
struct ModelStep {
  uint32_t operation = 0;  ///< in ModelFamily::operations, unless there are parts
  uint32_t repeat = 1;
  std::vector<ModelStep> parts;
};

/// The file of each of some ranks.
struct ModelProgram {
  std::vector<uint32_t> ranks;
  std::vector<ModelStep> steps;
};

/// What sets of one structure have in common.
struct ModelFamily {
  uint32_t ranks = 0, sets = 1;  ///< `sets`: how many of it have been seen
  std::vector<ModelRole> roles;
  std::vector<ModelOperation> operations;
  std::vector<ModelProgram> programs;  ///< together of all ranks, each once
};

struct TraceModel {
  std::vector<ModelFamily> families;  ///< the one of most sets first
};

/// Keys as docs/traces.md has them. Throws Error(kRun) when the file cannot be written.
void write_model(const TraceModel& model, const std::string& file);
/// Throws Error(kInput) naming the file and the key for what is no model, or refers to what it does not have.
TraceModel read_model(const std::string& file);

/// How many nodes the steps are, repetitions and all; at most 2^31.
uint64_t step_nodes(const std::vector<ModelStep>& steps);
/// How many entries the steps have as written.
uint64_t written_steps(const std::vector<ModelStep>& steps);

/// Where among the unfolded steps operations stand first and last, from 0.
struct StepPlaces {
  std::vector<int64_t> first, last;  ///< by operation; -1: nowhere
};
/// Of operations below `operations`; the steps are at most 2^31 nodes. Takes as long as the steps are as written.
StepPlaces places_of(const std::vector<ModelStep>& steps, size_t operations);

/// Operations in a row as steps, with what repeats written once: the shortest block first, blocks of blocks after it.
std::vector<ModelStep> folded(const std::vector<uint32_t>& operations);
/// The reverse.
std::vector<uint32_t> unfolded(const std::vector<ModelStep>& steps);
/// An operation of a program, unfolded, of which a node waits for itself by way of others, which takes dependencies
/// that stand behind; or nothing. Takes time and memory (some bytes a node) only where there are such.
std::optional<uint32_t> circle_in(const std::vector<uint32_t>& program, const std::vector<ModelOperation>& operations);

}  // namespace rankwire
