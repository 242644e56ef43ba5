// What the pages are made of that is not C++: emulator/report/page, put into the program when it is built
// (emulator/report/page/embed.cmake).
#pragma once

#include <string_view>

namespace rankwire {

/// The style sheet of all pages, for a `<style>` inside them because pages load nothing.
std::string_view page_style();
/// What makes `report.html` answer, for a `<script type="module">`. Neither ends its element early.
std::string_view page_script();

}  // namespace rankwire
