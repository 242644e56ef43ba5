#include "emulator/report/storms.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

constexpr size_t kPrinted = 4, kListedStorms = 64;

std::vector<StormRow> storms_of(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  return run == nullptr ? std::vector<StormRow>() : record.storms(*run);
}

std::string readable(Time time) {
  return rankwire::readable(time - Time());
}

std::string consequence(const StormRow& storm) {
  return storm.forwarded > 0 ? fmt::format("{} frames sent against the pause", storm.forwarded)
                             : fmt::format("{} frames dropped", storm.dropped);
}

}  // namespace

nlohmann::ordered_json storms_json(const RunReader& record) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StormRow& s : storms_of(record)) {
    list.push_back({{"name", s.name},
                    {"priority", s.priority},
                    {"stuck_ps", s.stuck.ps},
                    {"begin_ps", s.begin.ps},
                    {"end_ps", s.end ? nlohmann::ordered_json(s.end->ps) : nlohmann::ordered_json()},
                    {"dropped", s.dropped},
                    {"forwarded", s.forwarded}});
  }
  return list;
}

std::string storms_text(const RunReader& record) {
  const std::vector<StormRow> storms = storms_of(record);
  if (storms.empty()) return {};
  std::string text =
      "pause storms: queues that sent nothing because the other end paused them, taken by the watchdog\n";
  for (size_t i = 0; i < storms.size(); ++i) {
    if (i == kPrinted) {
      text += fmt::format("  and {} more, in summary.json\n", storms.size() - i);
      break;
    }
    const StormRow& s = storms[i];
    text += fmt::format("  {} priority {}, from {} {}: {}\n", s.name, s.priority, readable(s.begin),
                        s.end ? "to " + readable(*s.end) : "to the end of the run", consequence(s));
  }
  return text;
}

std::string html_storms(const RunReader& record) {
  const std::vector<StormRow> storms = storms_of(record);
  if (storms.empty()) return {};
  HtmlTable table("storms", {{"Port", HtmlColumn::kText},
                             {"Priority"},
                             {"Stuck since"},
                             {"Begin"},
                             {"End"},
                             {"Dropped"},
                             {"Sent against the pause"}});
  const size_t listed = std::min(storms.size(), kListedStorms);
  for (size_t i = 0; i < listed; ++i) {
    const StormRow& s = storms[i];
    table.add({s.name, uint32_t{s.priority}, readable(s.stuck), readable(s.begin), s.end ? readable(*s.end) : "-",
               s.dropped, s.forwarded});
  }
  return "<p class=\"note\">Queues that sent nothing because the other end paused them without end: who is behind the "
         "port is to be blamed. The watchdog took them and dropped their frames, or sent them in spite of the "
         "pause.</p>\n" +
         html_shown_of(listed, storms.size(), "summary.json") + std::move(table).finish();
}

}  // namespace rankwire
