// A table of `report.html`.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"
#include "emulator/report/format.h"
#include "emulator/report/metric_texts.h"

namespace rankwire {

/// Content of one cell, escaped here so that no caller can forget it. Where the text rounds, the cell carries the exact
/// value for scripts to sort by.
class HtmlCell {
 public:
  HtmlCell(const char* text) : html_(html_escaped(text)) {}
  HtmlCell(const std::string& text) : html_(html_escaped(text)) {}
  HtmlCell(uint64_t value) : html_(fmt::to_string(value)) {}
  HtmlCell(uint32_t value) : html_(fmt::to_string(value)) {}
  HtmlCell(Duration value) : html_(readable(value)), value_(fmt::to_string(value.ps)) {}
  HtmlCell(Bytes value) : html_(readable(value)), value_(fmt::to_string(value.count)) {}
  HtmlCell(std::optional<Duration> value) : HtmlCell(value ? HtmlCell(*value) : HtmlCell("-")) {}

  /// A text that sorts by a value.
  static HtmlCell valued(const std::string& text, int64_t value) {
    HtmlCell cell(text);
    cell.value_ = fmt::to_string(value);
    return cell;
  }
  /// The text over a bar as long as the part 0 .. 1 of the cell, by which it sorts.
  static HtmlCell bar(const std::string& text, double part) {
    HtmlCell cell(text);
    cell.html_ = fmt::format("<span class=\"bar\" style=\"width:{:.1f}%\"></span>{}", part * 100, cell.html_);
    cell.value_ = fmt::to_string(part);
    return cell;
  }
  /// The text behind a patch of colour, "#rrggbb".
  static HtmlCell key(const std::string& text, const std::string& color) {
    HtmlCell cell(text);
    cell.html_ = fmt::format("<span class=\"key\" style=\"background:{}\"></span>{}", html_escaped(color), cell.html_);
    return cell;
  }
  const std::string& html() const { return html_; }
  /// Empty where the text says it.
  const std::string& value() const { return value_; }

 private:
  std::string html_, value_;
};

enum class HtmlColumn { kText, kNumber };

class HtmlTable {
 public:
  struct Heading {
    const char* title;
    HtmlColumn column = HtmlColumn::kNumber;
    const char* metric = nullptr;  ///< its heading in metric_texts(), where that is another
  };

  /// `where` is the table of metric_texts() by which headings tell what stands beneath them.
  HtmlTable(const char* where, std::initializer_list<Heading> headings)
      : HtmlTable(where, std::vector<Heading>(headings)) {}
  HtmlTable(const char* where, std::vector<Heading> headings) : headings_(std::move(headings)) {
    html_ = "<div class=\"wide\"><table>\n<thead><tr>";
    for (const Heading& heading : headings_) {
      const char* const metric = heading.metric == nullptr ? heading.title : heading.metric;
      html_ += fmt::format("<th scope=\"col\"{}{}>{}</th>", css(heading), html_title(where, metric),
                           html_escaped(heading.title));
    }
    html_ += "</tr></thead>\n<tbody>\n";
  }
  /// One cell for each heading. `attributes` are of the row, such as html_operation() makes.
  void add(const std::vector<HtmlCell>& cells, std::string_view attributes = {}) {
    html_ += fmt::format("<tr{}>", attributes);
    for (size_t i = 0; i < cells.size(); ++i) {
      html_ += fmt::format("<td{}", css(headings_[i]));
      if (!cells[i].value().empty()) html_ += fmt::format(" data-value=\"{}\"", cells[i].value());
      html_ += fmt::format(">{}</td>", cells[i].html());
    }
    html_ += "</tr>\n";
  }
  std::string finish() && { return std::move(html_) + "</tbody></table></div>\n"; }

 private:
  static const char* css(const Heading& heading) { return heading.column == HtmlColumn::kNumber ? " class=\"n\"" : ""; }
  std::vector<Heading> headings_;
  std::string html_;
};

/// Attributes of a row about one execution, by which scripts find it in the timeline.
inline std::string html_operation(const OperationRow& row) {
  return fmt::format(" data-operation=\"{},{},{}\"", row.node.rank.value, row.iteration, row.node.id);
}
/// The same of a row about executions of which only name and kind are known, numbers in the name being of no account.
inline std::string html_operations(const std::string& name, const std::string& kind) {
  return fmt::format(" data-name=\"{}\" data-kind=\"{}\"", html_escaped(name), html_escaped(kind));
}

/// "500 of 8583; all are in operations.csv." in a paragraph; empty when all are shown.
inline std::string html_shown_of(size_t shown, size_t all, const char* file) {
  if (shown >= all) return {};
  return fmt::format("<p class=\"note\">{} of {}; all are in {}.</p>\n", shown, all, file);
}

}  // namespace rankwire
