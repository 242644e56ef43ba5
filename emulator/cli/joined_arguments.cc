#include "emulator/cli/joined_arguments.h"

#include <string_view>

namespace rankwire {
namespace {

/// A port, an address, or either or a name with a port: no name of a file.
bool is_like_address(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return text.find_first_not_of("0123456789.") == std::string_view::npos;
  const std::string_view port = text.substr(colon + 1);
  return !port.empty() && port.find_first_not_of(kDigits) == std::string_view::npos &&
         text.find('/') == std::string_view::npos;
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
