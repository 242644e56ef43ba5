#include "emulator/cli/joined_arguments.h"

#include <algorithm>
#include <string_view>

namespace rankwire {
namespace {

/// A port, or an address with one, but no name of a file.
bool is_like_address(std::string_view text) {
  if (text.starts_with("localhost:")) text.remove_prefix(std::string_view("localhost:").size());
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string_view::npos &&
         text.find_last_of("0123456789") == text.size() - 1;
}

}  // namespace

JoinedArguments::JoinedArguments(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (text == "--live" && i + 1 < argc && is_like_address(argv[i + 1])) {
      texts_.push_back(std::string(text) + "=" + argv[++i]);
      ++joined_;
    } else {
      texts_.emplace_back(text);
    }
  }
  for (const std::string& text : texts_) pointers_.push_back(text.c_str());
  pointers_.push_back(nullptr);
}

}  // namespace rankwire
