#include "emulator/report/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/record/lost_links.h"
#include "emulator/report/format.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDrawnRanks = 64, kShownLinks = 24;

struct StalledRun {
  const RecordedRun* run = nullptr;
  StallRow stall;
};

std::optional<StalledRun> stalled_run(const RunReader& record) {
  std::vector<const RecordedRun*> runs = record.models();
  if (record.emulated() != nullptr) runs.insert(runs.begin(), record.emulated());
  for (const RecordedRun* run : runs)
    if (std::optional<StallRow> stall = record.stall(*run)) return StalledRun{run, std::move(*stall)};
  return std::nullopt;
}

/// "rank 5 (host 2, port p2)".
class Places {
 public:
  Places(const RunReader& record, const RecordedRun& run)
      : names_(record),
        ports_(port_names(record, run)),
        nics_(record.rank_nics(run)),
        lost_(lost_links(record.port_settings(run))) {}

  std::string label(RankId rank) const { return names_.label(rank.value); }
  /// What became of the port of a rank; of a rank behind none that lost its link, of the first that did.
  std::string lost(RankId rank) const {
    const PortId own = rank.value < nics_.size() ? nics_[rank.value].port : PortId();
    const auto of_rank = std::ranges::find(lost_, own, &PortSettingRow::port);
    const auto row = of_rank != lost_.end() ? of_rank : lost_.begin();
    if (row == lost_.end()) return "a port has lost its link";
    return fmt::format("port {}: {}", name_of(ports_, row->port), lost_link_text(*row));
  }
  /// `machine`: that it is on; empty: there is one, or that is told beside it.
  std::string full(RankId rank, const std::string& machine = {}) const {
    const std::string on = machine.empty() ? std::string() : fmt::format("machine '{}', ", machine);
    if (rank.value >= nics_.size() || !nics_[rank.value].port.valid())
      return on.empty() ? names_.titled(rank.value)
                        : fmt::format("{} ({})", names_.titled(rank.value), on.substr(0, on.size() - 2));
    const RankNic& nic = nics_[rank.value];
    const std::string host = nic.host ? fmt::format("host {}, ", *nic.host) : std::string();
    return fmt::format("{} ({}{}port {})", names_.titled(rank.value), on, host, name_of(ports_, nic.port));
  }

 private:
  RankNames names_;
  std::map<PortId, std::string> ports_;
  std::vector<RankNic> nics_;
  std::vector<PortSettingRow> lost_;
};

/// What is wrong, with `who` as the culprit.
std::string what(const StallRow& stall, const std::string& who) {
  const std::string_view kind = stall.kind;
  if (kind == "dead_peer") return fmt::format("{} does not answer", who);
  if (kind == "lost_completion")
    return fmt::format("what is sent to or by {} has arrived, but nobody who waits for it has heard so", who);
  if (kind == "credit_shortage") return fmt::format("{} has no room for what it is sent (RNR or credits)", who);
  if (kind == "pfc_deadlock" && !stall.culprit.valid()) return "ports pause each other round in a circle";
  if (kind == "pfc_deadlock") return fmt::format("ports that send to {} are paused for good", who);
  if (kind == "generator_starvation")
    return stall.culprit.valid()
               ? fmt::format("the generator does not come to send for {}", who)
               : fmt::format("the generator itself stood still{}: its loop did not turn",
                             stall.machine.empty() ? "" : fmt::format(" on machine '{}'", stall.machine));
  if (kind == "concurrency_limit")
    return "collectives that run wait for such as have no place to run (concurrency.communication)";
  if (kind == "mismatched_collective")
    return stall.is_cycle ? std::string("ranks begin the same collectives in different orders")
                          : fmt::format("{} has finished and never begins what others wait for", who);
  if (kind == "trace_cycle")
    return stall.is_cycle ? std::string("ranks wait for each other in a circle")
                          : fmt::format("nodes of {} wait for what never becomes ready", who);
  return stall.culprit.valid() ? fmt::format("it ends at {}, for a reason that is not known", who)
                               : std::string("for a reason that is not known");
}

std::string sentence(const StalledRun& stalled, const Places& places) {
  const StallRow& stall = stalled.stall;
  const bool has_gone = stall.kind == "gone_machine";
  const std::string who =
      stall.culprit.valid() ? places.full(stall.culprit, has_gone ? "" : stall.machine) : std::string();
  std::string text = stall.kind + ": ";
  if (stall.kind == "lost_link") {
    text += places.lost(stall.culprit) + (who.empty() ? "" : ", behind which " + who + " is");
  } else if (has_gone) {
    text += fmt::format("machine '{}' has gone, on which {} is", stall.machine, who);
  } else {
    text += what(stall, who);
  }
  if (stall.is_cycle) {
    text += " (";
    for (const StallWait& wait : stall.chain) text += places.label(wait.rank) + " > ";
    text += places.label(stall.chain.front().rank) + ")";
  }
  if (stall.behind > 0)
    text +=
        fmt::format("; {} {}", stall.behind,
                    stall.culprit.valid() ? (stall.behind == 1 ? "other rank waits for it" : "other ranks wait for it")
                                          : (stall.behind == 1 ? "rank waits" : "ranks wait"));
  return text + fmt::format("; last progress at {}", readable(stall.last_progress - Time()));
}

std::string reason_of(const StallWait& wait, const Places& places) {
  if (wait.kind == "message") return "waits for a message of " + places.full(wait.peer);
  if (wait.kind == "acknowledgement") return "waits for an acknowledgement of " + places.full(wait.peer);
  if (wait.kind == "order") return "waits for what comes first in its group";
  if (wait.kind == "place") return "waits for a place (concurrency.communication)";
  return "waits for others to end the iteration";
}

std::string operation_of(const StallWait& wait) {
  if (wait.operation.empty()) return {};
  return wait.group.empty()
             ? fmt::format("in '{}', iteration {}", wait.operation, wait.iteration)
             : fmt::format("in '{}' of group '{}', iteration {}", wait.operation, wait.group, wait.iteration);
}

Json wait_json(const StallWait& wait) {
  const auto number = [](auto id) { return id.valid() ? Json(id.value) : Json(nullptr); };
  const bool is_connected = wait.connection.valid();
  const auto queue_pair = [&](uint32_t qp) { return is_connected && qp != 0 ? Json(qp) : Json(nullptr); };
  return {{"kind", wait.kind},
          {"rank", wait.rank.value},
          {"peer", number(wait.peer)},
          {"operation", wait.operation.empty() ? Json(nullptr) : Json(wait.operation)},
          {"group", wait.group.empty() ? Json(nullptr) : Json(wait.group)},
          {"iteration", wait.iteration},
          {"connection", number(wait.connection)},
          {"source_qp", queue_pair(wait.source_qp)},
          {"destination_qp", queue_pair(wait.destination_qp)},
          {"retries", is_connected ? Json(wait.retries) : Json(nullptr)},
          {"state", is_connected ? Json(wait.state) : Json(nullptr)}};
}

Json waits_json(const std::vector<StallWait>& waits) {
  Json list = Json::array();
  for (const StallWait& wait : waits) list.push_back(wait_json(wait));
  return list;
}

std::string html_chain(const StallRow& stall, const Places& places) {
  std::string html = "<ol class=\"chain\">\n";
  for (size_t i = 0; i < stall.chain.size(); ++i) {
    if (i == kShownLinks) {
      html += fmt::format("<li>and {} more, in stalls.json</li>\n", stall.chain.size() - i);
      break;
    }
    const StallWait& wait = stall.chain[i];
    html += fmt::format("<li><b>{}</b> {} {}<br><span class=\"note\">{}</span></li>\n",
                        html_escaped(places.full(wait.rank)), html_escaped(reason_of(wait, places)),
                        html_escaped(operation_of(wait)), html_escaped(wait.state));
  }
  if (stall.culprit.valid())
    html +=
        fmt::format("<li class=\"culprit\"><b>{}</b></li>\n", html_escaped(places.full(stall.culprit, stall.machine)));
  return html + "</ol>\n";
}

/// Ranks on a circle, an arrow for each that waits for another. Empty for many.
std::string drawing(const StallRow& stall, const Places& places) {
  std::set<std::pair<uint32_t, uint32_t>> arrows;
  std::map<uint32_t, size_t> place;  // on the circle, by rank
  for (const StallWait& wait : stall.waits) {
    if (!wait.peer.valid()) continue;
    arrows.emplace(wait.rank.value, wait.peer.value);
    place.try_emplace(wait.rank.value), place.try_emplace(wait.peer.value);
  }
  if (place.size() < 2 || place.size() > kDrawnRanks) return {};
  size_t next = 0;
  for (auto& [rank, at] : place) at = next++;
  constexpr double kMiddle = 200, kRadius = 165, kLabel = 185;
  const auto point = [&](uint32_t rank, double radius) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(place[rank]) / static_cast<double>(place.size());
    return std::pair(kMiddle + radius * std::sin(angle), kMiddle - radius * std::cos(angle));
  };
  std::string svg =
      "<svg class=\"waits\" role=\"img\" viewBox=\"0 0 400 400\">\n<title>Who waits for whom: an arrow leads from a "
      "rank to the "
      "one that it waits for</title>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
      "markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n";
  for (const auto& [from, to] : arrows) {
    const auto [x1, y1] = point(from, kRadius - 8);
    const auto [x2, y2] = point(to, kRadius - 8);
    const bool is_last = stall.culprit.valid() && to == stall.culprit.value;
    svg += fmt::format("<line{} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" marker-end=\"url(#tip)\"/>\n",
                       is_last ? " class=\"bad\"" : "", x1, y1, x2, y2);
  }
  for (const auto& [rank, at] : place) {
    const auto [x, y] = point(rank, kRadius);
    const auto [label_x, label_y] = point(rank, kLabel);
    const bool is_culprit = stall.culprit.valid() && rank == stall.culprit.value;
    svg += fmt::format(
        "<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"><title>{}</title></circle><text x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>\n",
        is_culprit ? " class=\"bad\"" : "", x, y, html_escaped(places.full(RankId(rank))), label_x, label_y + 4, rank);
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string stall_text(const RunReader& record) {
  const std::optional<StalledRun> stalled = stalled_run(record);
  return stalled ? sentence(*stalled, Places(record, *stalled->run)) : std::string();
}

nlohmann::ordered_json stall_json(const RunReader& record) {
  const std::optional<StalledRun> stalled = stalled_run(record);
  if (!stalled) return nullptr;
  const StallRow& stall = stalled->stall;
  return {{"class", stall.kind},
          {"text", sentence(*stalled, Places(record, *stalled->run))},
          {"culprit", stall.culprit.valid() ? Json(stall.culprit.value) : Json(nullptr)},
          {"machine", stall.machine.empty() ? Json(nullptr) : Json(stall.machine)},
          {"is_cycle", stall.is_cycle},
          {"ranks_behind", stall.behind},
          {"waits_ending_there", stall.accused},
          {"last_progress_ps", stall.last_progress.ps},
          {"chain", waits_json(stall.chain)}};
}

nlohmann::ordered_json stalls_json(const RunReader& record) {
  const std::optional<StalledRun> stalled = stalled_run(record);
  Json json = stall_json(record);
  if (stalled) json["waits"] = waits_json(stalled->stall.waits);
  return json;
}

std::string html_stall(const RunReader& record) {
  const std::optional<StalledRun> stalled = stalled_run(record);
  if (!stalled) return {};
  const Places places(record, *stalled->run);
  return fmt::format("<p>{}.</p>\n", html_escaped(sentence(*stalled, places))) + html_chain(stalled->stall, places) +
         drawing(stalled->stall, places);
}

}  // namespace rankwire
