#include "emulator/cli/joined_arguments.h"

#include <fmt/format.h>

#include <string_view>

namespace rankwire {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A port, an address, or either or a name with a port: no name of a file.
bool is_like_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  const std::string_view port = text.substr(colon + 1);
  return is_number(port) && text.find('/') == std::string_view::npos;
}

}  // namespace

JoinedArguments::JoinedArguments(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) {
    const std::string_view text = argv[i];
    const std::string_view next = i + 1 < argc ? argv[i + 1] : "";
    const bool is_check = text == "-c" || text == "--check";
    if ((text == "--live" && is_like_address(next)) || (is_check && is_number(next))) {
      texts_.push_back(fmt::format("{}={}", is_check ? "--check" : text, next));
      ++i;
      ++joined_;
    } else {
      texts_.emplace_back(text);
    }
  }
  for (const std::string& text : texts_) pointers_.push_back(text.c_str());
  pointers_.push_back(nullptr);
}

}  // namespace rankwire
