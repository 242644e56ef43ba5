// Programs of a trace model: repetition found, and written out.
#include <algorithm>
#include <map>

#include "emulator/traces/trace_model.h"

namespace rankwire {
namespace {

/// What is being folded: of equal symbols, the steps are equal, too.
struct Folding {
  std::vector<uint32_t> symbols;
  std::vector<ModelStep> steps;  ///< by position
};

/// How often the block of `length` symbols at `at` is repeated, itself counted.
size_t repeats_at(const std::vector<uint32_t>& symbols, size_t at, size_t length) {
  size_t end = at + length;
  while (end < symbols.size() && symbols[end] == symbols[end - length]) ++end;
  return (end - at) / length;
}

bool has_repeated_block(const std::vector<uint32_t>& symbols, size_t length) {
  size_t equal = 0;
  for (size_t at = length; at < symbols.size() && equal < length; ++at)
    equal = symbols[at] == symbols[at - length] ? equal + 1 : 0;
  return equal == length;
}

/// Replaces repeated blocks of this length by one step each, whose symbol is new, or that of an equal one.
void fold_blocks(Folding& folding, size_t length, uint32_t& next_symbol) {
  Folding made;
  std::map<std::vector<uint32_t>, uint32_t> known;  // block and number of repetitions: its symbol
  for (size_t at = 0; at < folding.symbols.size();) {
    const size_t repeats =
        at + 2 * length <= folding.symbols.size() ? repeats_at(folding.symbols, at, length) : size_t{1};
    if (repeats < 2) {
      made.symbols.push_back(folding.symbols[at]);
      made.steps.push_back(std::move(folding.steps[at++]));
      continue;
    }
    const auto begin = folding.symbols.begin() + static_cast<ptrdiff_t>(at);
    std::vector<uint32_t> block(begin, begin + static_cast<ptrdiff_t>(length));
    block.push_back(static_cast<uint32_t>(repeats));
    const auto [found, is_new] = known.try_emplace(std::move(block), next_symbol);
    next_symbol += is_new ? 1 : 0;
    ModelStep step{.repeat = static_cast<uint32_t>(repeats)};
    for (size_t i = at; i < at + length; ++i) step.parts.push_back(std::move(folding.steps[i]));
    made.symbols.push_back(found->second);
    made.steps.push_back(std::move(step));
    at += repeats * length;
  }
  folding = std::move(made);
}

/// Steps begin at `at`. Of what is repeated either the first repetition or the last is looked at.
void find_places(const std::vector<ModelStep>& steps, int64_t at, bool last, std::vector<int64_t>& places) {
  for (const ModelStep& step : steps) {
    const int64_t length = step.parts.empty() ? 1 : static_cast<int64_t>(step_nodes(step.parts));
    const int64_t begin = at + (last ? (step.repeat - 1) * length : 0);
    if (!step.parts.empty()) {
      find_places(step.parts, begin, last, places);
    } else if (last || places[step.operation] < 0) {
      places[step.operation] = begin;
    }
    at += step.repeat * length;
  }
}

}  // namespace

std::vector<ModelStep> folded(const std::vector<uint32_t>& operations) {
  constexpr size_t kLongest = 8192;  // a training step's part of a rank
  Folding folding{.symbols = operations};
  uint32_t next_symbol = 0;
  for (const uint32_t operation : operations) {
    folding.steps.push_back({.operation = operation});
    next_symbol = std::max(next_symbol, operation + 1);
  }
  for (size_t length = 1; length <= std::min(kLongest, folding.symbols.size() / 2);) {
    if (!has_repeated_block(folding.symbols, length)) {
      ++length;
      continue;
    }
    fold_blocks(folding, length, next_symbol);
    length = 1;  // what was folded may make shorter blocks equal
  }
  return std::move(folding.steps);
}

std::vector<uint32_t> unfolded(const std::vector<ModelStep>& steps) {
  std::vector<uint32_t> operations;
  for (const ModelStep& step : steps) {
    const std::vector<uint32_t> once =
        step.parts.empty() ? std::vector<uint32_t>{step.operation} : unfolded(step.parts);
    for (uint32_t i = 0; i < step.repeat; ++i) operations.insert(operations.end(), once.begin(), once.end());
  }
  return operations;
}

std::optional<uint32_t> circle_in(const std::vector<uint32_t>& program, const std::vector<ModelOperation>& operations) {
  const auto waits_behind = [&](uint32_t operation) {
    return std::ranges::any_of(operations[operation].after, [](int64_t back) { return back < 0; });
  };
  if (std::ranges::none_of(program, waits_behind)) return std::nullopt;
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Visit {
    size_t node;
    size_t next = 0;  ///< of its dependencies
  };
  std::vector<State> states(program.size(), State::kNew);
  std::vector<Visit> path;
  for (size_t first = 0; first < program.size(); ++first) {
    if (states[first] == State::kNew) path.push_back({first});
    while (!path.empty()) {
      Visit& visit = path.back();
      const size_t node = visit.node;
      const std::vector<int64_t>& after = operations[program[node]].after;
      states[node] = visit.next == after.size() ? State::kDone : State::kOpen;
      if (states[node] == State::kDone) {
        path.pop_back();
        continue;
      }
      const int64_t parent = static_cast<int64_t>(node) - after[visit.next++];
      if (parent < 0 || parent >= static_cast<int64_t>(program.size())) continue;
      const State state = states[static_cast<size_t>(parent)];
      if (state == State::kOpen) return program[node];
      if (state == State::kNew) path.push_back({static_cast<size_t>(parent)});
    }
  }
  return std::nullopt;
}

uint64_t step_nodes(const std::vector<ModelStep>& steps) {
  constexpr uint64_t kMost = uint64_t{1} << 31;  // times a repetition it still fits
  uint64_t nodes = 0;
  for (const ModelStep& step : steps)
    nodes = std::min(kMost, nodes + (step.parts.empty() ? 1 : step_nodes(step.parts)) * step.repeat);
  return nodes;
}

StepPlaces places_of(const std::vector<ModelStep>& steps, size_t operations) {
  StepPlaces places{.first = std::vector<int64_t>(operations, -1), .last = std::vector<int64_t>(operations, -1)};
  find_places(steps, 0, false, places.first);
  find_places(steps, 0, true, places.last);
  return places;
}

uint64_t written_steps(const std::vector<ModelStep>& steps) {
  uint64_t written = 0;
  for (const ModelStep& step : steps) written += 1 + written_steps(step.parts);
  return written;
}

}  // namespace rankwire
