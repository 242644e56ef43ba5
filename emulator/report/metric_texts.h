// What the numbers of the page are.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rankwire {

/// A heading of a table of the page, or of one of its figures, and what stands beneath it, with its unit where the
/// number does not carry it. The same words are in docs/metrics.md.
struct MetricText {
  const char* where;  ///< the table; "any": of all others that have the heading
  const char* heading;
  const char* text;
};

std::span<const MetricText> metric_texts();

/// Empty where nothing is to be said.
std::string_view metric_text(std::string_view where, std::string_view heading);

/// An attribute ` title="..."`; empty where nothing is to be said.
std::string html_title(std::string_view where, std::string_view heading);

}  // namespace rankwire
