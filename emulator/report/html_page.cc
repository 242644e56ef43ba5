#include "emulator/report/html_page.h"

#include <fmt/format.h>

#include "emulator/report/format.h"
#include "emulator/report/metric_texts.h"
#include "emulator/report/page_files.h"

namespace rankwire {

std::string html_head(std::string_view title, std::string_view style) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}{}</style></head>\n<body>\n",
      html_escaped(title), page_style(), style);
}

std::string html_section(const char* title, const std::string& body) {
  return body.empty() ? std::string() : fmt::format("<section><h2>{}</h2>\n{}</section>\n", title, body);
}

std::string html_card(const char* where, const char* title, const std::string& value, const std::string& beneath,
                      const char* tone) {
  return fmt::format("<div class=\"card {}\"{}><span>{}</span><strong>{}</strong><small>{}</small></div>\n", tone,
                     html_title(where, title), title, html_escaped(value), html_escaped(beneath));
}

}  // namespace rankwire
