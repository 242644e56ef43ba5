// The page of a run as it goes on: emulator/live/page, put into the program when it is built.
#pragma once

#include <string>
#include <string_view>

namespace rankwire {

/// Complete, with the style sheet of the report. Its script and style carry `nonce`.
std::string live_page(std::string_view nonce);

/// What stands in it: of the whole document what is between the style and the script, these two, and the report's
/// style.
std::string_view live_body();
std::string_view live_style();
std::string_view live_script();

}  // namespace rankwire
