#include "emulator/assembly/machine_stall.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/event.h"
#include "emulator/assembly/stall_rows.h"
#include "emulator/engine/rank_wait.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kStateBytes = 40;

size_t bytes_of(const ConnectionView& view) {
  return view.text.size() + view.states.size() * kStateBytes;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The first of each rank, then the second of each that has one, and so on.
void keep_first(std::vector<RankWait>& waits, size_t most) {
  if (waits.size() <= most) return;
  std::map<RankId, uint32_t> counts;
  std::vector<std::pair<uint32_t, size_t>> order;  // place among those of its rank, and among all
  for (size_t i = 0; i < waits.size(); ++i) order.emplace_back(counts[waits[i].rank]++, i);
  std::ranges::sort(order);
  order.resize(most);
  std::ranges::sort(order, {}, &std::pair<uint32_t, size_t>::second);
  std::vector<RankWait> kept;
  for (const auto& [place, i] : order) kept.push_back(waits[i]);
  waits = std::move(kept);
}

// In the order in which `waits_of` reads them.
Json json_of(const std::vector<RankWait>& waits) {
  Json list = Json::array();
  for (const RankWait& w : waits)
    list.push_back(
        {static_cast<int>(w.kind), w.rank.value, w.peer.value, w.node, w.behind, w.iteration, w.connection.value});
  return list;
}

std::vector<RankWait> waits_of(const Json& json) {
  std::vector<RankWait> waits;
  for (const Json& w : json)
    waits.push_back({.kind = static_cast<WaitKind>(w.at(0).get<int>()),
                     .rank = RankId(w.at(1).get<uint32_t>()),
                     .peer = RankId(w.at(2).get<uint32_t>()),
                     .node = w.at(3),
                     .behind = w.at(4),
                     .iteration = w.at(5),
                     .connection = ConnectionId(w.at(6).get<uint32_t>()),
                     .message = {}});
  return waits;
}

Json json_of(const ConnectionViews& views) {
  const auto psn = [](const std::optional<uint32_t>& number) { return number ? Json(*number) : Json(); };
  Json list = Json::array();
  for (const auto& [connection, view] : views) {
    Json states = Json::array();
    for (const QueuePairState& s : view.states)
      states.push_back({static_cast<int>(s.hold), s.source_number, s.destination_number, s.retries,
                        psn(s.unacknowledged), psn(s.expected)});
    list.push_back({connection, std::move(states), view.text});
  }
  return list;
}

ConnectionViews views_of(const Json& json) {
  const auto psn = [](const Json& number) {
    return number.is_null() ? std::nullopt : std::optional(number.get<uint32_t>());
  };
  ConnectionViews views;
  for (const Json& told : json) {
    ConnectionView& view = views[told.at(0).get<uint32_t>()];
    for (const Json& s : told.at(1))
      view.states.push_back({.hold = static_cast<Hold>(s.at(0).get<int>()),
                             .source_number = s.at(1),
                             .destination_number = s.at(2),
                             .retries = s.at(3),
                             .unacknowledged = psn(s.at(4)),
                             .expected = psn(s.at(5))});
    view.text = told.at(2);
  }
  return views;
}

}  // namespace

MachineStall machine_stall(const Setup& setup, const RunResult& result, WorkerEngines& engines) {
  MachineStall stall{.facts = stall_facts(setup, engines),
                     .standstills = {},
                     .end = Time() + result.total,
                     .last_progress = Time::long_ago(),
                     .views = {}};
  for (const WorkerTime& worker : result.workers) {
    stall.standstills.push_back({worker.standstill, worker.standstill_end});
    stall.last_progress = std::max(stall.last_progress, worker.last_progress);
  }
  return stall;
}

void complete(MachineStall& stall, const std::function<ConnectionView(ConnectionId)>& view, const StallLimits& limits) {
  const size_t all = stall.facts.waits.size();
  keep_first(stall.facts.waits, limits.waits);
  stall.waits_left_out = all - stall.facts.waits.size();
  size_t room = limits.view_bytes;
  std::set<uint32_t> left_out;
  for (const std::vector<RankWait>* waits : {&stall.facts.broken, &stall.facts.waits}) {
    for (const RankWait& wait : *waits) {
      if (!wait.connection.valid() || stall.views.contains(wait.connection.value)) continue;
      ConnectionView told = view(wait.connection);
      if (bytes_of(told) > room) {
        left_out.insert(wait.connection.value);
        continue;
      }
      room -= bytes_of(told);
      stall.views.emplace(wait.connection.value, std::move(told));
    }
  }
  stall.views_left_out = left_out.size();
}

Json json_of(const MachineStall& stall) {
  Json finished = Json::array(), by = Json::array(), standstills = Json::array();
  for (const RankId rank : stall.facts.finished) finished.push_back(rank.value);
  for (const Failure failure : stall.facts.broken_by) by.push_back(static_cast<int>(failure));
  for (const Standstill& standstill : stall.standstills) standstills.push_back({standstill.took.ps, standstill.end.ps});
  return {{"waits", json_of(stall.facts.waits)},
          {"finished", std::move(finished)},
          {"broken", json_of(stall.facts.broken)},
          {"broken_by", std::move(by)},
          {"standstills", std::move(standstills)},
          {"end", stall.end.ps},
          {"last_progress", stall.last_progress.ps},
          {"views", json_of(stall.views)},
          {"left_out", Json::array({stall.waits_left_out, stall.views_left_out})}};
}

MachineStall machine_stall(const Json& json) {
  MachineStall stall;
  stall.facts.waits = waits_of(json.at("waits"));
  for (const Json& rank : json.at("finished")) stall.facts.finished.emplace_back(rank.get<uint32_t>());
  stall.facts.broken = waits_of(json.at("broken"));
  for (const Json& by : json.at("broken_by")) stall.facts.broken_by.push_back(static_cast<Failure>(by.get<int>()));
  for (const Json& s : json.at("standstills"))
    stall.standstills.push_back({Duration(s.at(0).get<int64_t>()), Time(s.at(1).get<int64_t>())});
  stall.end = Time(json.at("end").get<int64_t>());
  stall.last_progress = Time(json.at("last_progress").get<int64_t>());
  stall.views = views_of(json.at("views"));
  stall.waits_left_out = json.at("left_out").at(0), stall.views_left_out = json.at("left_out").at(1);
  return stall;
}

std::string answer_bytes(std::span<const ConnectionId> asked, const ConnectionViews& views, const StallLimits& limits) {
  ConnectionViews answer;
  size_t room = limits.view_bytes;
  for (const ConnectionId connection : asked) {
    const auto known = views.find(connection.value);
    if (known == views.end() || bytes_of(known->second) > room) continue;
    room -= bytes_of(known->second);
    answer.insert(*known);
  }
  return text_of(json_of(answer));
}

ConnectionViews views_of_answer(const std::string& bytes) {
  return views_of(Json::parse(bytes));
}

std::string question_bytes(std::span<const ConnectionId> asked) {
  Json list = Json::array();
  for (const ConnectionId connection : asked) list.push_back(connection.value);
  return text_of(list);
}

std::vector<ConnectionId> question(const std::string& bytes) {
  std::vector<ConnectionId> asked;
  for (const Json& connection : Json::parse(bytes)) asked.emplace_back(connection.get<uint32_t>());
  return asked;
}

}  // namespace rankwire
