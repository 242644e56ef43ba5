#include "emulator/live/view_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/json_problem.h"
#include "base/units.h"
#include "emulator/live/view_server.h"
#include "emulator/report/format.h"
#include "emulator/report/page_files.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;
using Summary = nlohmann::json;

/// The value at a path of keys such as "/emulated/completion_time_ps"; null where there is none.
const Summary* value_at(const Summary& summary, const char* path) {
  const Summary::json_pointer pointer(path);
  return summary.contains(pointer) ? &summary[pointer] : nullptr;
}

std::string text_at(const Summary& summary, const char* path) {
  const Summary* const value = value_at(summary, path);
  if (value == nullptr || value->is_null()) return "-";
  return value->is_string() ? value->get<std::string>()
                            : value->dump(-1, ' ', false, Summary::error_handler_t::replace);
}

std::optional<int64_t> count_at(const Summary& summary, const char* path) {
  const Summary* const value = value_at(summary, path);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<int64_t>();
}

std::string time_at(const Summary& summary, const char* path) {
  const std::optional<int64_t> time = count_at(summary, path);
  return time ? readable(Duration(*time)) : "-";
}

std::string bytes_at(const Summary& summary, const char* path) {
  const std::optional<int64_t> bytes = count_at(summary, path);
  return bytes ? readable(Bytes(*bytes)) : "-";
}

std::string ratio_at(const Summary& summary, const char* path) {
  const Summary* const value = value_at(summary, path);
  return value != nullptr && value->is_number() ? readable_ratio(value->get<double>()) : "-";
}

std::string link(size_t run, std::string_view file, std::string_view text) {
  return fmt::format("<a href=\"{}/{}\">{}</a>", run, html_escaped(file), html_escaped(text));
}

bool has(const ViewedRun& run, std::string_view file) {
  return std::ranges::find(run.files, file) != run.files.end();
}

std::string row(const ViewedRun& viewed, size_t place) {
  const Summary& s = viewed.summary;
  const std::string name = text_at(s, "/config/name");
  std::string html = "<tr><td>" + (has(viewed, "report.html") ? link(place, "report.html", name) : html_escaped(name)) +
                     fmt::format("<br><span class=\"note\">{}</span></td>", html_escaped(viewed.folder.string()));
  const auto text = [&](const std::string& cell) { html += "<td>" + html_escaped(cell) + "</td>"; };
  const auto number = [&](const std::string& cell) { html += "<td class=\"n\">" + html_escaped(cell) + "</td>"; };
  text(text_at(s, "/verdict"));
  text(text_at(s, "/fidelity"));
  number(time_at(s, "/emulated/completion_time_ps"));
  number(time_at(s, "/reference/completion_time_ps"));
  number(ratio_at(s, "/ratio"));
  number(text_at(s, "/ranks"));
  number(bytes_at(s, "/bytes_wire"));
  number(text_at(s, "/transport/retransmitted"));
  number(text_at(s, "/transport/timeouts"));
  number(text_at(s, "/transport/ecn_ce_rx"));
  return html + "</tr>\n";
}

std::string files_of(const ViewedRun& run, size_t place) {
  std::string html = fmt::format("<section><h2>{}</h2>\n<p>", html_escaped(run.folder.string()));
  for (const std::string& file : run.files) html += link(place, file, file) + " ";
  return html + "</p></section>\n";
}

}  // namespace

ViewedRun viewed_run(const fs::path& folder) {
  ViewedRun run{folder, {}, {}};
  std::ifstream file(folder / "summary.json");
  if (!file && !fs::is_directory(folder)) fail_input("{}: there is no such folder", folder.string());
  if (!file)
    fail_input("{}: this folder holds no run that has ended; `rankwire report` writes what there is of one",
               folder.string());
  const std::string summary = (folder / "summary.json").string();
  run.summary = parse_json(std::string(std::istreambuf_iterator<char>(file), {}), summary, "is no summary of a run");
  if (!run.summary.is_object()) fail_input("{}: is no summary of a run, but {}", summary, run.summary.type_name());
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (type_of_run_file(name) != nullptr && entry.symlink_status(error).type() == fs::file_type::regular)
      run.files.push_back(name);
  }
  if (error) fail_input("{}: {}", folder.string(), error.message());
  std::ranges::sort(run.files);
  return run;
}

std::string view_index(std::span<const ViewedRun> runs, std::string_view nonce) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>rankwire runs</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style nonce=\"{}\">\n{}a {{ color: inherit; "
      "}}\n</style>\n</head>\n<body>\n"
      "<h1>Runs</h1>\n<p class=\"note\">As they were when this was begun.</p>\n<div class=\"wide\"><table><thead><tr>",
      nonce, page_style());
  for (const char* heading : {"Run", "Verdict", "Fidelity"}) html += fmt::format("<th>{}</th>", heading);
  for (const char* heading :
       {"Emulated", "Reference", "Ratio", "Ranks", "On the wire", "Retransmitted", "Time-outs", "CE marks"})
    html += fmt::format("<th class=\"n\">{}</th>", heading);
  html += "</tr></thead><tbody>\n";
  for (size_t i = 0; i < runs.size(); ++i) html += row(runs[i], i);
  html += "</tbody></table></div>\n";
  for (size_t i = 0; i < runs.size(); ++i) html += files_of(runs[i], i);
  return html + "</body>\n</html>\n";
}

}  // namespace rankwire
