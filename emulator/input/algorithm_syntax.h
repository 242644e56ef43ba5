// How an algorithm is written.
#pragma once

#include <string>

#include "emulator/collective/algorithm.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// A name that suits the operation.
struct AlgorithmSyntax {
  Operation operation;

  AlgorithmChoice parse(const Tree& scalar) const {
    const std::vector<Algorithm> suitable = algorithms_for(operation);
    const auto named = std::ranges::find(suitable, scalar.text, [](Algorithm a) { return to_string(a); });
    if (named != suitable.end()) return {.algorithm = *named, .files = {}};
    throw ValueError(fmt::format("'{}' is not one of {}", scalar.text, names_of(suitable)));
  }
  Json print(const AlgorithmChoice& choice) const {
    return choice.algorithm == Algorithm::kCustom ? choice.files : std::string(to_string(choice.algorithm));
  }
};

}  // namespace rankwire
