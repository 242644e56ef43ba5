#include "emulator/assembly/machine_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "emulator/input/config.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// FNV-1a of 64 bits: G. Fowler, L. C. Noll, K.-P. Vo, "The FNV Non-Cryptographic Hash Algorithm". It tells files apart
/// that differ by accident.
constexpr uint64_t kNoDigest = 0xcbf29ce484222325;

uint64_t digest_of_text(std::string_view text, uint64_t digest = kNoDigest) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

uint64_t digest_of(const std::string& name) {
  uint64_t digest = kNoDigest;
  std::ifstream file(name, std::ios::binary);
  std::array<char, 65536> block;
  while (file.read(block.data(), block.size()), file.gcount() > 0)
    digest = digest_of_text({block.data(), static_cast<size_t>(file.gcount())}, digest);
  return digest;
}

/// Folders apart: what is in the files counts.
void forget_folders(Json& workload) {
  if (const auto traces = workload.find("traces"); traces != workload.end()) workload.erase(traces);
}

Json identity_of(const Setup& setup, const std::string& version) {
  Json config = Json::parse(resolved_json(setup.config));
  if (config.contains("workload")) forget_folders(config["workload"]);
  if (config.contains("jobs") && config["jobs"].is_array())
    for (Json& job : config["jobs"]) forget_folders(job["workload"]);
  Json traces = Json::array();
  for (const RankTrace& trace : setup.workload.ranks)
    traces.push_back({{"file", std::filesystem::path(trace.file).filename().string()},
                      {"digest", fmt::format("{:016x}", digest_of(trace.file))}});
  return {{"version", version}, {"config", std::move(config)}, {"traces", std::move(traces)}};
}

/// Of two that differ.
std::string difference(const Json& leads, const Json& own, const Setup& setup) {
  if (leads["version"] != own["version"])
    return fmt::format("is rankwire {}, not {}", own["version"].get<std::string>(),
                       leads["version"].get<std::string>());
  const Json theirs = leads["config"].flatten(), ours = own["config"].flatten();
  for (const auto& [pointer, value] : theirs.items()) {
    const auto found = ours.find(pointer);
    if (found != ours.end() && *found == value) continue;
    std::string key = pointer.substr(1);
    std::ranges::replace(key, '/', '.');
    return fmt::format("{}: {} is {}, not {}", setup.config.file, key, found != ours.end() ? found->dump() : "absent",
                       value.dump());
  }
  for (size_t rank = 0; rank < std::min(leads["traces"].size(), own["traces"].size()); ++rank)
    if (leads["traces"][rank] != own["traces"][rank])
      return fmt::format("{}: this trace of rank {} is another file than there", setup.workload.ranks[rank].file, rank);
  return fmt::format("{}: has more keys, or another number of ranks", setup.config.file);
}

}  // namespace

std::string bytes_of(const SourceReading& reading) {
  return Json{reading.own, reading.source, reading.half}.dump();
}

SourceReading source_reading(const std::string& bytes) {
  const Json json = Json::parse(bytes);
  return {.own = json.at(0), .source = json.at(1), .half = json.at(2)};
}

std::string bytes_of(const MachineReport& report) {
  const CommunicationCounters& m = report.messages;
  Json lost = Json::array();
  for (const PortSettingRow& row : report.lost_links)
    lost.push_back({{"port", row.port.value}, {"name", row.name}, {"before", row.before}, {"after", row.after}});
  return Json{{"verdict", static_cast<int>(report.verdict)},
              {"reason", report.reason},
              {"waiting", report.waiting},
              {"total", report.total.ps},
              {"completion", report.completion.ps},
              {"messages", {m.sent, m.delivered, m.failed, m.duplicated, m.payload_errors}},
              {"source", report.source ? bytes_of(*report.source) : ""},
              {"stall", report.stall ? json_of(*report.stall) : Json()},
              {"lost_links", std::move(lost)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

MachineReport machine_report(const std::string& bytes) {
  const Json json = Json::parse(bytes);
  const Json& counts = json.at("messages");
  MachineReport report{.verdict = static_cast<Verdict>(json.at("verdict").get<int>()),
                       .reason = json.at("reason"),
                       .waiting = json.at("waiting"),
                       .total = Duration(json.at("total").get<int64_t>()),
                       .completion = Duration(json.at("completion").get<int64_t>()),
                       .messages = {}};
  report.messages.sent = counts.at(0), report.messages.delivered = counts.at(1), report.messages.failed = counts.at(2);
  report.messages.duplicated = counts.at(3), report.messages.payload_errors = counts.at(4);
  if (const std::string source = json.at("source"); !source.empty()) report.source = source_reading(source);
  if (const Json& stall = json.at("stall"); !stall.is_null()) report.stall = machine_stall(stall);
  for (const Json& row : json.at("lost_links"))
    report.lost_links.push_back(
        {PortId(row.at("port").get<uint32_t>()), row.at("name"), row.at("before"), row.at("after")});
  return report;
}

RunResult joined_result(std::span<const std::string> machines, std::span<const std::optional<MachineReport>> reports) {
  RunResult result;
  std::string gone;
  for (size_t machine = 0; machine < reports.size(); ++machine) {
    const std::optional<MachineReport>& report = reports[machine];
    if (!report) {
      gone += fmt::format("{}machine '{}' has gone", gone.empty() ? "" : ", ", machines[machine]);
      continue;
    }
    result.total = std::max(result.total, report->total);
    for (const std::string& line : report->waiting) result.waiting.push_back(line);
    if (result.verdict != Verdict::kOk || report->verdict == Verdict::kOk) continue;
    result.verdict = report->verdict, result.reason = report->reason;
  }
  if (gone.empty()) return result;
  result.verdict = Verdict::kFailed;
  result.reason =
      result.reason.starts_with(gone) ? result.reason : gone + (result.reason.empty() ? "" : "; ") + result.reason;
  return result;
}

CommunicationCounters joined_messages(std::span<const std::optional<MachineReport>> reports) {
  CommunicationCounters sum;
  for (const auto& report : reports)
    if (report) sum += report->messages;
  return sum;
}

Duration joined_completion(std::span<const std::optional<MachineReport>> reports) {
  Duration latest;
  for (const auto& report : reports)
    if (report) latest = std::max(latest, report->completion);
  return latest;
}

// Of hundreds of machines each has a configuration of as many ports: it goes to those alone that have another one.
void agree_on_setup(Machines& machines, const Setup& setup, const std::string& version) {
  const Json own = identity_of(setup, version);
  const std::string text = own.dump();
  const std::string digest = fmt::format("{:016x}", digest_of_text(text));
  const bool differs = machines.from_leader(digest) != digest;
  const std::vector<std::string> all = machines.gather(differs ? "differs" : "");
  std::string differences;
  if (machines.leads()) {
    for (uint32_t machine = 1; machine < all.size(); ++machine)
      machines.send(machine, MachineTag::kOrder, all[machine].empty() ? "" : text);
  } else if (const std::string leads = machines.take(0, MachineTag::kOrder); !leads.empty()) {
    differences = difference(Json::parse(leads), own, setup);
  }
  const std::vector<std::string> what = machines.gather(differences);
  for (size_t machine = 0; machine < what.size(); ++machine)
    if (!what[machine].empty())
      fail_input("machine '{}' differs from '{}': {}", machines.name(static_cast<uint32_t>(machine)),
                 machines.own_name(), what[machine]);
  machines.from_leader("");
}

}  // namespace rankwire
