// How an algorithm is written: its name, or the path of the files that describe it.
#pragma once

#include <string>

#include "emulator/collective/algorithm.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// A name that suits the operation. What has a '/' is the prefix of Chakra files, from the folder of the file in which
/// it is written.
struct AlgorithmSyntax {
  Operation operation;

  AlgorithmChoice parse(const Tree& scalar) const {
    const std::vector<Algorithm> suitable = algorithms_for(operation);
    const auto named = std::ranges::find(suitable, scalar.text, [](Algorithm a) { return to_string(a); });
    if (named != suitable.end()) return {.algorithm = *named, .files = {}};
    if (scalar.text.find('/') != std::string::npos)
      return {.algorithm = Algorithm::kCustom, .files = FilePath().parse(scalar)};
    throw ValueError(fmt::format("'{}' is not one of {}, nor the path of an algorithm's files, which has a '/'",
                                 scalar.text, names_of(suitable)));
  }
  ConfigJson print(const AlgorithmChoice& choice) const {
    return choice.algorithm == Algorithm::kCustom ? choice.files : std::string(to_string(choice.algorithm));
  }
};

}  // namespace rankwire
