// A table of `report.html`.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emulator/report/format.h"

namespace rankwire {

/// Content of one cell, escaped here so that no caller can forget it.
class HtmlCell {
 public:
  HtmlCell(const char* text) : html_(html_escaped(text)) {}
  HtmlCell(const std::string& text) : html_(html_escaped(text)) {}
  HtmlCell(uint64_t value) : html_(fmt::to_string(value)) {}
  HtmlCell(uint32_t value) : html_(fmt::to_string(value)) {}
  HtmlCell(Duration value) : html_(readable(value)) {}
  HtmlCell(Bytes value) : html_(readable(value)) {}
  HtmlCell(std::optional<Duration> value) : html_(value ? readable(*value) : "-") {}

  /// The text over a bar as long as the part 0 .. 1 of the cell.
  static HtmlCell bar(const std::string& text, double part) {
    HtmlCell cell(text);
    cell.html_ = fmt::format("<span class=\"bar\" style=\"width:{:.1f}%\"></span>{}", part * 100, cell.html_);
    return cell;
  }
  /// The text behind a patch of colour, "#rrggbb".
  static HtmlCell key(const std::string& text, const std::string& color) {
    HtmlCell cell(text);
    cell.html_ = fmt::format("<span class=\"key\" style=\"background:{}\"></span>{}", html_escaped(color), cell.html_);
    return cell;
  }
  const std::string& html() const { return html_; }

 private:
  std::string html_;
};

enum class HtmlColumn { kText, kNumber };

class HtmlTable {
 public:
  struct Heading {
    const char* title;
    HtmlColumn column = HtmlColumn::kNumber;
  };

  explicit HtmlTable(std::initializer_list<Heading> headings) : HtmlTable(std::vector<Heading>(headings)) {}
  explicit HtmlTable(std::vector<Heading> headings) : headings_(std::move(headings)) {
    html_ = "<div class=\"wide\"><table>\n<thead><tr>";
    for (const Heading& heading : headings_) {
      html_ += fmt::format("<th scope=\"col\"{}>{}</th>", css(heading), html_escaped(heading.title));
    }
    html_ += "</tr></thead>\n<tbody>\n";
  }
  /// One cell for each heading.
  void add(const std::vector<HtmlCell>& cells) {
    html_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      html_ += fmt::format("<td{}>{}</td>", css(headings_[i]), cells[i].html());
    }
    html_ += "</tr>\n";
  }
  std::string finish() && { return std::move(html_) + "</tbody></table></div>\n"; }

 private:
  static const char* css(const Heading& heading) { return heading.column == HtmlColumn::kNumber ? " class=\"n\"" : ""; }
  std::vector<Heading> headings_;
  std::string html_;
};

/// "500 of 8583; all are in operations.csv." in a paragraph; empty when all are shown.
inline std::string html_shown_of(size_t shown, size_t all, const char* file) {
  if (shown >= all) return {};
  return fmt::format("<p class=\"note\">{} of {}; all are in {}.</p>\n", shown, all, file);
}

}  // namespace rankwire
