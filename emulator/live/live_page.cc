#include "emulator/live/live_page.h"

#include <fmt/format.h>

#include "emulator/report/page_files.h"

namespace rankwire {

std::string live_page(std::string_view nonce) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>rankwire live</title>\n<link rel=\"icon\" href=\"data:,\">\n"
      "<style nonce=\"{0}\">\n{1}{2}</style>\n</head>\n<body>\n{3}"
      "<script type=\"module\" nonce=\"{0}\">\n{4}</script>\n</body>\n</html>\n",
      nonce, page_style(), live_style(), live_body(), live_script());
}

}  // namespace rankwire
