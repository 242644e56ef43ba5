#include "emulator/report/shared_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/port_names.h"
#include "emulator/report/shared_links.h"

namespace rankwire {
namespace {

using PortsJson = nlohmann::ordered_json;

constexpr size_t kMostPortsInJson = 16, kMostPortLines = 3, kMostPortRows = 50;

const std::string& job_called(const RunReader& record, JobId job) {
  return record.jobs()[job.value].name;
}

const char* direction_of(const PortShare& share) {
  return share.outbound ? "out" : "in";
}

/// "port3.up", "port3.down": the cables of ports on one switch, by PortId.
bool is_on_one_switch(std::string_view link) {
  if (!link.starts_with("port")) return false;
  link.remove_prefix(4);
  const size_t digits = std::min(link.find_first_not_of("0123456789"), link.size());
  return digits > 0 && (link.substr(digits) == ".up" || link.substr(digits) == ".down");
}

std::optional<Duration> shared_time(const PortShare& share) {
  return share.together ? std::optional(share.together->shared) : std::nullopt;
}

std::optional<Duration> time_there(const PortShare& share) {
  return share.together ? std::optional(share.together->time) : std::nullopt;
}

/// What times are of; empty where there are none.
const char* times_of(const PortShare& share) {
  if (!share.together) return "";
  return share.together->by_operations ? "operations" : "messages";
}

PortsJson prediction_json(const SharedLinkRow* row) {
  if (row == nullptr) return nullptr;
  return {{"link", row->link},
          {"time_ps", row->time.ps},
          {"shared_ps", row->shared.ps},
          {"bytes", row->bytes.count},
          {"shared_bytes", row->shared_bytes.count}};
}

}  // namespace

/// What the model says of the cables of ports.
class SharedPorts::Predictions {
 public:
  Predictions(const RunReader& record, const RecordedRun& run)
      : names_(port_names(record, run)), rows_(longest_shared_links(record)) {
    on_one_switch_ = std::ranges::all_of(rows_, is_on_one_switch, &SharedLinkRow::link);
    std::map<std::string_view, PortId> ports;
    for (const auto& [port, name] : names_) ports.emplace(name, port);
    for (const SharedLinkRow& row : rows_) {
      const std::string_view link = row.link;
      const bool outbound = link.ends_with(".up");
      if (on_one_switch_) {
        add(PortId(static_cast<uint32_t>(std::stoul(row.link.substr(4)))), outbound, row);
      } else if (outbound) {
        if (const auto port = ports.find(link.substr(0, link.size() - 3)); port != ports.end())
          add(port->second, true, row);
      } else {
        // Switch and port are both in the name, and either may have a dot in its own.
        for (size_t dot = link.find('.'); dot != std::string_view::npos; dot = link.find('.', dot + 1))
          if (const auto port = ports.find(link.substr(dot + 1)); port != ports.end()) add(port->second, false, row);
      }
    }
  }

  /// Null where nothing is predicted.
  const SharedLinkRow* of(const PortShare& share) const {
    const auto row = by_port_.find({share.port, share.outbound, share.job, share.other});
    return row == by_port_.end() ? nullptr : row->second;
  }
  std::string name(PortId port) const { return name_of(names_, port); }

 private:
  void add(PortId port, bool outbound, const SharedLinkRow& row) {
    by_port_.try_emplace({port, outbound, row.job, row.other}, &row);
  }

  const std::map<PortId, std::string> names_;
  const std::vector<SharedLinkRow> rows_;
  bool on_one_switch_ = false;
  std::map<std::tuple<PortId, bool, JobId, JobId>, const SharedLinkRow*> by_port_;
};

SharedPorts::SharedPorts(const RunReader& record, std::span<const PortShare> shares)
    : record_(record), longest_(shares.begin(), shares.end()) {
  if (shares.empty() || record.emulated() == nullptr) return;
  std::ranges::stable_sort(longest_, std::ranges::greater(), [](const PortShare& share) {
    return std::tuple(share.together ? share.together->shared : Duration(), std::min(share.bytes, share.other_bytes));
  });
  predictions_ = std::make_unique<const Predictions>(record, *record.emulated());
}

SharedPorts::~SharedPorts() = default;

PortsJson SharedPorts::json(JobId job) const {
  PortsJson list = PortsJson::array();
  if (!predictions_) return list;
  for (const PortShare& share : longest_) {
    if (list.size() == kMostPortsInJson) break;
    if (share.job != job) continue;
    PortsJson& json = list.emplace_back(PortsJson{{"port", predictions_->name(share.port)},
                                                  {"direction", direction_of(share)},
                                                  {"other", job_called(record_, share.other)},
                                                  {"bytes", share.bytes.count},
                                                  {"other_bytes", share.other_bytes.count},
                                                  {"time_ps", nullptr},
                                                  {"shared_ps", nullptr},
                                                  {"shared_bytes", nullptr},
                                                  {"times_of", nullptr},
                                                  {"predicted", prediction_json(predictions_->of(share))}});
    if (!share.together) continue;
    json["time_ps"] = share.together->time.ps;
    json["shared_ps"] = share.together->shared.ps;
    json["shared_bytes"] = share.together->shared_bytes.count;
    json["times_of"] = times_of(share);
  }
  return list;
}

std::string SharedPorts::text() const {
  if (!predictions_) return {};
  std::string text;
  size_t lines = 0;
  for (const JobInfo& job : record_.jobs()) {
    if (lines == kMostPortLines) break;
    const auto share = std::ranges::find(longest_, job.job, &PortShare::job);
    if (share == longest_.end() || !share->together || share->together->shared == Duration()) continue;
    ++lines;
    text += fmt::format("  {} shares {} ({}) with {} for {} of {}, {} of its {} there", job.name,
                        predictions_->name(share->port), direction_of(*share), job_called(record_, share->other),
                        readable(share->together->shared), readable(share->together->time),
                        readable(share->together->shared_bytes), readable(share->bytes));
    if (const SharedLinkRow* row = predictions_->of(*share))
      text += fmt::format("; predicted {} of {}", readable(row->shared), readable(row->time));
    text += '\n';
  }
  const char* const side = to_string(record_.emulated()->start.fidelity);
  const bool by_operations = longest_.front().together && longest_.front().together->by_operations;
  return text.empty() ? text
                      : fmt::format("ports that jobs share longest, {}{}\n{}", side,
                                    by_operations ? ", while operations last" : "", text);
}

std::string SharedPorts::html() const {
  if (!predictions_) return {};
  using HtmlColumn::kText;
  HtmlTable table("shared ports", {{"Port", kText},
                                   {"Direction", kText},
                                   {"Job", kText},
                                   {"Shares it with", kText},
                                   {"For"},
                                   {"Predicted"},
                                   {"Of the time it has messages there"},
                                   {.title = "Predicted", .metric = "Predicted time"},
                                   {"Payload of all its messages there"},
                                   {"Of the other's"}});
  const size_t shown = std::min(longest_.size(), kMostPortRows);
  for (const PortShare& share : std::span(longest_).first(shown)) {
    const SharedLinkRow* const row = predictions_->of(share);
    table.add({predictions_->name(share.port), direction_of(share), job_called(record_, share.job),
               job_called(record_, share.other), shared_time(share), row ? std::optional(row->shared) : std::nullopt,
               time_there(share), row ? std::optional(row->time) : std::nullopt, share.bytes, share.other_bytes});
  }
  std::string html = fmt::format(
      "<p class=\"note\">Ports that jobs shared in what was emulated ({}), what is shared "
      "longest first, beside what the model flow predicts of the port's cable",
      to_string(record_.emulated()->start.fidelity));
  if (!longest_.front().together) {
    html += "; for how long is not known, since operations are missing";
  } else if (longest_.front().together->by_operations) {
    html += "; times are those of whole operations, and of each message with record.messages: all";
  }
  return html + ".</p>\n" + html_shown_of(shown, longest_.size(), "shared_ports.csv") + std::move(table).finish();
}

std::string shared_ports_csv(const RunReader& record) {
  std::string csv =
      "fidelity,port,direction,job,other,bytes,other_bytes,time_ps,shared_ps,shared_bytes,link,predicted_time_ps,"
      "predicted_shared_ps,predicted_bytes,predicted_shared_bytes,times_of\n";
  for (const RecordedRun& run : record.runs()) {
    if (run.start.fidelity == Fidelity::kReference) continue;
    const std::vector<PortShare> shares = port_shares(record, run);
    if (shares.empty()) continue;
    const SharedPorts::Predictions predictions(record, run);
    for (const PortShare& share : shares) {
      csv +=
          fmt::format("{},{},{},{},{},{},{},", to_string(run.start.fidelity), csv_field(predictions.name(share.port)),
                      direction_of(share), csv_field(job_called(record, share.job)),
                      csv_field(job_called(record, share.other)), share.bytes.count, share.other_bytes.count);
      csv += share.together ? fmt::format("{},{},{},", share.together->time.ps, share.together->shared.ps,
                                          share.together->shared_bytes.count)
                            : ",,,";
      const SharedLinkRow* const row = predictions.of(share);
      csv += row ? fmt::format("{},{},{},{},{},", csv_field(row->link), row->time.ps, row->shared.ps, row->bytes.count,
                               row->shared_bytes.count)
                 : ",,,,,";
      csv += fmt::format("{}\n", times_of(share));
    }
  }
  return csv;
}

}  // namespace rankwire
