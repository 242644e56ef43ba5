#include "emulator/report/impairments.h"

#include <algorithm>
#include <map>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/jobs.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownEvents = 50;

uint64_t events_of(const std::vector<ImpairmentRuleRow>& rules) {
  uint64_t events = 0;
  for (const ImpairmentRuleRow& rule : rules) events += rule.done;
  return events;
}

std::string text_of(const std::optional<uint32_t>& value, const char* absent) {
  return value ? fmt::to_string(*value) : absent;
}

/// "connection,source,destination".
std::string csv_ends(const Connection& c) {
  return c.id.valid() ? fmt::format("{},{},{}", c.id.value, c.source.value, c.destination.value) : ",,";
}

std::string event_table(const std::vector<ImpairmentRow>& events, const std::map<PortId, std::string>& names,
                        const RankNames& ranks) {
  using HtmlColumn::kText;
  HtmlTable table("impairments", {{"Time us"},
                                  {"Rule"},
                                  {"Action", kText},
                                  {"Port", kText},
                                  {"Direction", kText},
                                  {"From rank"},
                                  {"To rank"},
                                  {"Operation", kText},
                                  {"Message", kText},
                                  {"Packet"},
                                  {"PSN"},
                                  {"Opcode", kText}});
  const size_t shown = std::min(events.size(), kShownEvents);
  for (size_t i = 0; i < shown; ++i) {
    const ImpairmentRow& e = events[i];
    const bool known = e.connection.id.valid();
    table.add({fmt::format("{:.3f}", static_cast<double>(e.time.ps) / 1e6), e.rule, e.action, name_of(names, e.port),
               e.direction, known ? ranks(e.connection.source) : "-", known ? ranks(e.connection.destination) : "-",
               e.operation, e.message, text_of(e.packet, "-"), text_of(e.psn, "-"), e.opcode});
  }
  return html_shown_of(shown, events.size(), "impairments.csv") + std::move(table).finish();
}

}  // namespace

std::string impairments_csv(const RunReader& record) {
  std::string csv =
      "fidelity,time_ps,rule,action,port,port_name,direction,connection,source,destination,operation,message,packet,"
      "psn,"
      "opcode,job\n";
  for (const RecordedRun& run : record.runs()) {
    const auto names = port_names(record, run);
    for (const ImpairmentRow& e : record.impairments(run)) {
      const std::string job = e.connection.id.valid() ? job_of_rank(record, e.connection.source) : "";
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity), e.time.ps,
                         e.rule, e.action, e.port.value, csv_field(name_of(names, e.port)), e.direction,
                         csv_ends(e.connection), csv_field(e.operation), csv_field(e.message), text_of(e.packet, ""),
                         text_of(e.psn, ""), e.opcode, job);
    }
  }
  return csv;
}

Json impairments_json(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto rules = run == nullptr ? std::vector<ImpairmentRuleRow>() : record.impairment_rules(*run);
  if (rules.empty()) return nullptr;
  const uint64_t events = events_of(rules);
  Json json = {{"events", events}, {"unrecorded", events - record.impairments(*run).size()}, {"rules", Json::array()}};
  for (const ImpairmentRuleRow& r : rules)
    json["rules"].push_back({{"rule", r.rule}, {"action", r.action}, {"done", r.done}, {"not_done", r.not_done}});
  return json;
}

std::string html_impairments(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto rules = run == nullptr ? std::vector<ImpairmentRuleRow>() : record.impairment_rules(*run);
  if (rules.empty()) return {};
  HtmlTable table("impairments", {{"Rule"}, {"Action", HtmlColumn::kText}, {"Done"}, {"Not possible"}});
  for (const ImpairmentRuleRow& r : rules) table.add({r.rule, r.action, r.done, r.not_done});
  std::string html =
      "<p class=\"note\">What the generator did to packets on purpose, by the rules of the configuration.</p>\n" +
      std::move(table).finish();
  const std::vector<ImpairmentRow> events = record.impairments(*run);
  if (const uint64_t all = events_of(rules); all > events.size())
    html += fmt::format("<p class=\"note\">{} events were counted and not kept.</p>\n", all - events.size());
  if (!events.empty()) html += event_table(events, port_names(record, *run), RankNames(record));
  return html;
}

}  // namespace rankwire
