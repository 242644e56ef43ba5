// A text for a terminal in sections, of which those that matter most are printed where there is no room for all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

struct TextSection {
  std::string name;                ///< what a reader is told is missing where it was left out or cut
  std::vector<std::string> lines;  ///< none: there is no such section
  int rank = 0;                    ///< 0: printed in full whatever it takes; of the others 1 first
  size_t least = 1;                ///< fewer lines than these say nothing, such as a heading alone
};

struct FittedText {
  std::string text;                   ///< in the order of the sections, each line with its end
  std::vector<std::string> left_out;  ///< "path", "3 lines of jobs", in the order of the sections
};

/// As many lines as there is room for. Of sections of one rank the first comes first; one that does not fit in whole is
/// cut, and what is less important then goes into what it leaves.
FittedText fitted(const std::vector<TextSection>& sections, size_t room);

/// A text's lines without their ends.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace rankwire
