// What all pages begin with and are divided into.
#pragma once

#include <string>
#include <string_view>

namespace rankwire {

/// Everything up to the first heading: `title` as text, `style` more rules behind those of page_style().
std::string html_head(std::string_view title, std::string_view style = {});

/// Empty where the body is.
std::string html_section(const char* title, const std::string& body);

/// A figure of the first screen, which tells what it is as headings of table `where` do. `tone` is a class of the
/// style: plain, good, doubtful or bad.
std::string html_card(const char* where, const char* title, const std::string& value, const std::string& beneath,
                      const char* tone = "plain");

}  // namespace rankwire
