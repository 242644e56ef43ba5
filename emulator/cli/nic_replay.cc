#include "emulator/cli/nic_replay.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "emulator/input/units.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

constexpr size_t kMostReplayed = 4096;

/// What stands for an impairment of a message's own packet; nothing: a bench cannot repeat it.
std::optional<ReplayedAction> action_of(const std::string& action, bool sent) {
  static const std::map<std::string, ReplayedAction> kActions = {{"drop", ReplayedAction::kLose},
                                                                 {"duplicate", ReplayedAction::kDuplicate},
                                                                 {"delay", ReplayedAction::kDelay},
                                                                 {"reorder", ReplayedAction::kDelay},
                                                                 {"corrupt_payload", ReplayedAction::kCorrupt},
                                                                 {"corrupt_header", ReplayedAction::kCorrupt},
                                                                 {"corrupt_icrc", ReplayedAction::kCorrupt},
                                                                 {"mark_ce", ReplayedAction::kMark}};
  if (action == "forge_cnp" && sent) return ReplayedAction::kNotify;
  const auto found = kActions.find(action);
  return found == kActions.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ReplayedAction> replayed(const ImpairmentRow& row, bool sent) {
  const bool data = row.opcode.starts_with("WRITE") || row.opcode.starts_with("SEND");
  if (data) return action_of(row.action, sent);
  // Of the peer's answers; the NIC's it sends by itself, whenever it likes.
  if (sent && row.opcode == "ACKNOWLEDGE" && row.action == "drop") return ReplayedAction::kLoseAnswer;
  return std::nullopt;
}

uint32_t recorded_mtu(const RunReader& reader) {
  const nlohmann::json config = nlohmann::json::parse(reader.config(), nullptr, false);
  try {
    return static_cast<uint32_t>(parse_quantity(config.at("transport").at("mtu").get<std::string>(), kSizeScale));
  } catch (const std::exception&) {
    fail_input("{}: its configuration says no transport.mtu", reader.folder().string());
  }
}

/// Ranks behind the port of `rank` meet it without a wire. Throws Error(kInput) where the run has no such rank.
std::set<uint32_t> behind_port_of(const RunReader& reader, const RecordedRun& run, uint32_t rank) {
  std::set<uint32_t> local;
  const std::vector<RankNic> nics = reader.rank_nics(run);
  if (nics.empty()) return local;  // the record does not say
  if (rank >= nics.size())
    fail_input("--rank {}: there is no rank {} in {}, ranks are 0 .. {}", rank, rank, reader.folder().string(),
               nics.size() - 1);
  for (uint32_t other = 0; other < nics.size(); ++other)
    if (nics[other].port == nics[rank].port) local.insert(other);
  return local;
}

}  // namespace

ReplayedJob read_replayed_job(const std::filesystem::path& folder, uint32_t rank, uint32_t largest) {
  const RunReader reader(folder);
  const RecordedRun* const run = reader.emulated();
  if (run == nullptr) fail_input("{}: has neither an emulated run nor a twin", folder.string());
  if (!reader.has_all_messages(*run))
    fail_input("{}: does not have every message: record.messages is to be 'all', and the run to end well",
               folder.string());
  ReplayedJob job{.rank = rank, .mtu = recorded_mtu(reader)};
  std::map<std::string, size_t> places;  // by identity
  std::map<std::array<uint32_t, 4>, uint32_t> flows;
  const std::set<uint32_t> local = behind_port_of(reader, *run, rank);
  reader.for_each_message(*run, [&](const JoinedMessage& message) {
    const auto source = static_cast<uint32_t>(message.id.source),
               destination = static_cast<uint32_t>(message.id.destination);
    const bool sent = source == rank;
    const uint32_t peer = sent ? destination : source;
    if ((!sent && destination != rank) || local.contains(peer)) return;
    if (job.messages.size() == kMostReplayed) {
      ++job.left_out;
      return;
    }
    if (message.bytes > Bytes(largest))
      fail_input("{}: a message of rank {} has {} bytes: --largest is to be as much", folder.string(), rank,
                 message.bytes.count);
    const std::array<uint32_t, 4> key = {static_cast<uint32_t>(message.id.job), static_cast<uint32_t>(message.id.group),
                                         static_cast<uint32_t>(message.id.channel), peer};
    const uint32_t flow = flows.try_emplace(key, static_cast<uint32_t>(flows.size())).first->second;
    places[to_string(message.id)] = job.messages.size();
    job.messages.push_back({.flow = flow,
                            .sent = sent,
                            .bytes = static_cast<uint32_t>(message.bytes.count),
                            .posted = message.posted,
                            .delivered = message.delivered});
  });
  if (job.messages.empty()) fail_input("{}: rank {} has no messages on the wire", folder.string(), rank);
  job.flows = static_cast<uint32_t>(flows.size());
  for (const ImpairmentRow& row : reader.impairments(*run)) {
    const auto place = places.find(row.message);
    if (place == places.end()) continue;
    ReplayedMessage& message = job.messages[place->second];
    const std::optional<ReplayedAction> action = replayed(row, message.sent);
    if (action && row.packet) {
      message.packets.emplace_back(*row.packet, *action);
    } else {
      ++job.not_replayed;
    }
  }
  return job;
}

}  // namespace rankwire
