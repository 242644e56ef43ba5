#include "emulator/report/page_messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/report/page_data.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;
using SideTimes = std::optional<OperationTimes>;

/// What an operation at a rank and its messages have in common: job, rank, iteration, sequence, and of a SEND or RECV
/// the other rank + 1.
using OwnerKey = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t>;

struct PageMessage {
  JoinedMessage message;
  int64_t from = -1, to = -1;  // rows of the page
};

bool is_during(const SideTimes& times, Time time) {
  return times && times->start <= time && time <= times->end;
}

/// Several SENDs may be meant where tags alone tell them apart: one that was at work is.
void take_row(int64_t& taken, std::span<const PageOperations::Row> rows, size_t row, Time at,
              const SideTimes* PageOperations::Row::*side) {
  const auto times_of = [&](size_t of) -> const SideTimes& { return *(rows[of].*side); };
  if (!times_of(row)) return;
  if (taken >= 0 && (is_during(times_of(static_cast<size_t>(taken)), at) || !is_during(times_of(row), at))) return;
  taken = static_cast<int64_t>(row);
}

std::vector<PageMessage> messages_of_side(const RunReader& record, const RecordedRun& run,
                                          std::span<const PageOperations::Row> rows,
                                          const SideTimes* PageOperations::Row::*side, size_t most) {
  std::vector<PageMessage> messages;
  for (JoinedMessage& message : record.slowest_messages(run, static_cast<uint32_t>(most)))
    if (!message.id.control) messages.push_back({std::move(message)});
  std::multimap<OwnerKey, std::pair<size_t, bool>> wanted;  // place, whether it is the sender's end
  for (size_t place = 0; place < messages.size(); ++place) {
    const MessageId& id = messages[place].message.id;
    const bool is_pair = id.group == MessageId::kPointToPoint;
    const auto key = [&](uint64_t rank, uint64_t peer) {
      return OwnerKey(id.job, rank, id.iteration, id.sequence, is_pair ? peer + 1 : 0);
    };
    wanted.emplace(key(id.source, id.destination), std::pair(place, true));
    wanted.emplace(key(id.destination, id.source), std::pair(place, false));
  }
  for (size_t row = 0; row < rows.size() && !wanted.empty(); ++row) {
    const PageOperations::Row& r = rows[row];
    const bool sends = *r.kind == "send", is_pair = sends || *r.kind == "receive";
    if (is_pair ? !r.peer.valid() : r.group->empty()) continue;
    const auto [begin, end] = wanted.equal_range(
        OwnerKey(r.job.value, r.rank.value, r.iteration, r.sequence, is_pair ? uint64_t{r.peer.value} + 1 : 0));
    for (auto at = begin; at != end; ++at) {
      const auto [place, is_sender] = at->second;
      PageMessage& m = messages[place];
      if (is_pair ? is_sender != sends : m.message.group != *r.group) continue;
      take_row(is_sender ? m.from : m.to, rows, row, is_sender ? m.message.posted : m.message.delivered, side);
    }
  }
  std::erase_if(messages, [](const PageMessage& m) { return m.from < 0 && m.to < 0; });
  std::ranges::stable_sort(messages, {}, [](const PageMessage& m) { return std::pair(m.from, m.message.posted); });
  return messages;
}

Json side_json(const RunReader& record, const RecordedRun* run, std::span<const PageOperations::Row> rows,
               const SideTimes* PageOperations::Row::*side, size_t most) {
  if (run == nullptr) return nullptr;
  const std::vector<PageMessage> messages = messages_of_side(record, *run, rows, side, most);
  if (messages.empty()) return nullptr;
  const auto column = [&](auto value) {
    std::vector<int64_t> numbers;
    for (const PageMessage& m : messages) numbers.push_back(static_cast<int64_t>(value(m)));
    return vlq_differences(numbers);
  };
  const uint64_t all = std::max<uint64_t>(run->latency ? run->latency->count : 0, messages.size());
  return {{"messages", messages.size()},
          {"all", all},
          {"columns",
           {{"from", column([](const PageMessage& m) { return m.from; })},
            {"to", column([](const PageMessage& m) { return m.to; })},
            {"source", column([](const PageMessage& m) { return m.message.id.source; })},
            {"destination", column([](const PageMessage& m) { return m.message.id.destination; })},
            {"posted", column([](const PageMessage& m) { return m.message.posted.ps; })},
            {"duration", column([](const PageMessage& m) { return m.message.completion().ps; })},
            {"bytes", column([](const PageMessage& m) { return m.message.bytes.count; })},
            {"retransmissions", column([](const PageMessage& m) { return m.message.retransmissions; })},
            {"marks", column([](const PageMessage& m) { return m.message.marks; })}}}};
}

}  // namespace

std::string page_messages_json(const RunReader& record, const PageOperations& operations, size_t most) {
  const std::vector<PageOperations::Row> rows = operations.rows();
  return json_in_script(
      Json::array({side_json(record, record.emulated(), rows, &PageOperations::Row::emulated, most),
                   side_json(record, record.reference(), rows, &PageOperations::Row::reference, most)}));
}

}  // namespace rankwire
