#include "emulator/assembly/machine_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "emulator/assembly/joined_stall.h"
#include "emulator/assembly/machine_shares.h"
#include "emulator/input/key_places.h"
#include "emulator/record/lost_links.h"

namespace rankwire {
namespace {

constexpr uint32_t kPings = 200;
/// Before the run, of half of them each: of hundreds of machines it takes seconds until all have been asked, and by the
/// second round it is known how clocks drift until the start.
constexpr int kRounds = 2;
/// For machines that have answered nothing by then, all together.
constexpr std::chrono::seconds kLongestPing{5};
/// From the word that all start to the start, and for each machine, to which the word is sent one after the other.
constexpr int64_t kStartDelay = 20'000'000, kStartDelayOfEach = 200'000;  // ns
constexpr size_t kPiece = size_t{1} << 20;

static_assert(std::is_trivially_copyable_v<EndPoint>);

int64_t steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

MachineRun::MachineRun(const Setup& setup, Machines& machines)
    : setup_(setup),
      machines_(machines),
      shares_(machine_shares(setup, machines.names())),
      ready_(machines.count()),
      samples_(machines.count()),
      readings_(machines.count()),
      pinged_(machines.count()),
      fits_(machines.count()) {
  const RunConfig& config = setup.config;
  if (config.clock.source == "ping") return;
  try {
    source_.emplace(config.clock.source);
  } catch (const Error& error) {  // which knows no file
    const std::string where =
        machines.leads() ? fmt::format("on machine '{}', which leads, ", machines.own_name()) : "";
    fail_key(config.places, "clock.source", "{}{}", where, error.what());
  }
}

const TransportPlan& MachineRun::plan() {
  plan_ = setup_.plan.transport;
  plan_.messages_in_flight = messages_in_flight(setup_.plan, ranks());
  return plan_;
}

void MachineRun::add_samples(uint32_t machine, uint32_t pings) {
  if (machines_.is_gone(machine)) return;
  for (const ClockSample& sample : machines_.ping(machine, pings)) samples_[machine].push_back(sample);
  if (!samples_[machine].empty()) pinged_[machine] = fit_clock(samples_[machine]);
}

void MachineRun::ping_all() {
  machines_.be_quick(true);
  for (int round = 0; round < kRounds; ++round)
    for (uint32_t machine = 1; machine < machines_.count(); ++machine) add_samples(machine, kPings / kRounds);
  // One whose core others have needs longer for an answer than all questions may take.
  const auto end = std::chrono::steady_clock::now() + kLongestPing;
  for (uint32_t machine = 1; machine < machines_.count(); ++machine)
    while (samples_[machine].empty() && !machines_.is_gone(machine) && std::chrono::steady_clock::now() < end)
      add_samples(machine, kPings / kRounds);
  machines_.be_quick(false);
  for (uint32_t machine = 1; machine < machines_.count(); ++machine)
    if (samples_[machine].empty())
      fail_run(
          "machine '{}' did not answer within {:.3g} s when it was asked for its time: its core may be others', too",
          machines_.name(machine), std::chrono::duration<double>(kLongestPing).count());
  fits_ = pinged_;
}

/// All read it when they have met, within milliseconds.
void MachineRun::compare_by_source() {
  machines_.meet();
  const std::vector<std::string> all = machines_.gather(bytes_of(source_->read()));
  for (uint32_t machine = 0; machine < all.size(); ++machine) {
    readings_[machine].push_back(source_reading(all[machine]));
    if (machine == 0) continue;
    fits_[machine] = fit_by_source(readings_[0], readings_[machine], setup_.config.clock.source_error);
    require_source(machine);
  }
}

void MachineRun::require_source(uint32_t machine) const {
  const ClockFit &pinged = pinged_[machine], &fit = fits_[machine];
  if (can_both_be(pinged, fit, pinged.at)) return;
  fail_run(
      "the clock of machine '{}' is {:.9f} s ahead by clock.source ({}), within {}, but {:.9f} s by pings, within {}: "
      "the source is not in step there, or not on '{}' (ptp4l, phc2sys, chrony)",
      machines_.name(machine), static_cast<double>(fit.offset_at(pinged.at)) / 1e9, source_->name(),
      error_text(fit.error), static_cast<double>(pinged.offset) / 1e9, error_text(pinged.error), machines_.own_name());
}

void MachineRun::compare_clocks() {
  machines_.meet();
  if (machines_.leads()) ping_all();
  if (source_) compare_by_source();
  const Duration most = setup_.config.clock.max_error;
  for (uint32_t machine = 1; machines_.leads() && machine < machines_.count(); ++machine)
    if (fits_[machine].error > most)
      fail_run("the clock of machine '{}' is known within {} only; clock.max_error asks for {}",
               machines_.name(machine), error_text(fits_[machine].error), error_text(most));
  machines_.meet();
}

void MachineRun::exchange(std::vector<EndPoint>& ends) {
  std::map<uint32_t, std::string> to;
  for (const Connection& c : setup_.plan.transport.connections) {
    const WorkerRoute& route = shares_.route(c.id);
    if (c.path != Path::kWire || route.sender == route.receiver) continue;
    if (route.sender == own()) to[route.receiver];
    if (route.receiver == own()) to[route.sender];
  }
  for (const EndPoint& end : ends) {
    const WorkerRoute& route = shares_.route(end.connection);
    const uint32_t peer = end.at_source ? route.receiver : route.sender;
    if (peer != own()) to[peer].append(reinterpret_cast<const char*>(&end), sizeof(end));
  }
  for (const auto& [machine, bytes] : to) machines_.send(machine, MachineTag::kEndPoints, bytes);
  for (const auto& [machine, sent] : to) {
    const std::string bytes = machines_.take(machine, MachineTag::kEndPoints);
    for (size_t at = 0; at + sizeof(EndPoint) <= bytes.size(); at += sizeof(EndPoint))
      std::memcpy(&ends.emplace_back(), bytes.data() + at, sizeof(EndPoint));
  }
}

bool MachineRun::all_ready(bool own) {
  if (all_ready_) return own;
  if (!machines_.leads()) {
    if (own && !std::exchange(told_ready_, true)) machines_.send(0, MachineTag::kReady, "");
    return all_ready_ = machines_.take_arrived(0, MachineTag::kReady).has_value();
  }
  ready_[0] = own;
  for (uint32_t machine = 1; machine < machines_.count(); ++machine)
    if (!ready_[machine]) ready_[machine] = machines_.take_arrived(machine, MachineTag::kReady).has_value();
  all_ready_ = std::ranges::all_of(ready_, [](bool ready) { return ready; });
  for (uint32_t machine = 1; all_ready_ && machine < machines_.count(); ++machine)
    machines_.send(machine, MachineTag::kReady, "");
  return all_ready_;
}

void MachineRun::begin(RunTeam& team, std::span<SharedIterations> iterations) {
  machines_.meet();
  std::string starts;
  if (machines_.leads()) {
    start_ = steady_now() + kStartDelay + kStartDelayOfEach * machines_.count();
    for (const ClockFit& fit : fits_) starts += fmt::format("{} ", start_ + fit.offset_at(start_));
  }
  starts = machines_.from_leader(starts);
  const char* next = starts.c_str();
  int64_t start = 0;
  for (uint32_t machine = 0; machine <= own(); ++machine) {
    char* end = nullptr;
    start = std::strtoll(next, &end, 10);
    next = end;
  }
  clock_.agree(start);
  watch_.emplace(machines_, team, iterations);
}

std::filesystem::path part_folder(const std::filesystem::path& folder, const std::string& machine) {
  return folder / kPartsFolder / machine;
}

// The ranks of other machines may wait at ends of connections where none of this one does.
void MachineRun::stopped(const RunResult& result, WorkerEngines& engines, const Transport& transport) {
  if (result.verdict == Verdict::kOk) return;
  const auto view = [&](ConnectionId connection) {
    return ConnectionView{transport.states(connection), transport.describe(connection)};
  };
  counted_.stall = machine_stall(setup_, result, engines);
  complete(*counted_.stall, view);
  for (const Connection& c : setup_.plan.transport.connections) {
    const WorkerRoute& route = shares_.route(c.id);
    const bool is_end = (route.source == own()) != (route.destination == own());
    if (is_end && !counted_.stall->views.contains(c.id.value)) ends_.emplace(c.id.value, view(c.id));
  }
}

void MachineRun::lost(const RunEnd& end) {
  counted_.lost_links = lost_links(end.port_settings);
}

void MachineRun::counted(const RunEnd& end) {
  counted_.completion = end.completion;
  CommunicationCounters& messages = counted_.messages;
  messages.sent = end.counters.messages_sent, messages.delivered = end.counters.messages_delivered;
  messages.failed = end.counters.messages_failed, messages.duplicated = end.messages_duplicated;
  messages.payload_errors = end.counters.payload_errors;
}

MachineReport MachineRun::report_of(const RunResult& result) {
  MachineReport report = counted_;
  try {
    if (source_) report.source = source_->read();
  } catch (const Error&) {  // one that has gone since then is not in step either
  }
  report.verdict = result.verdict, report.reason = result.reason, report.waiting = result.waiting;
  report.total = result.total;
  return report;
}

void MachineRun::hand_in(const RunResult& result, const std::filesystem::path& part) {
  machines_.gather_from_present(bytes_of(report_of(result)));
  machines_.gather_from_present(answer_bytes(question(machines_.take(0, MachineTag::kOrder)), ends_));
  if (machines_.take(0, MachineTag::kOrder).find(fmt::format(" {} ", own())) == std::string::npos) return;
  std::ifstream file(part / "run.sqlite", std::ios::binary);
  std::string piece(kPiece, '\0');
  do {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    machines_.send(0, MachineTag::kPart, piece.substr(0, static_cast<size_t>(file.gcount())));
  } while (file.gcount() > 0);
}

std::vector<std::optional<MachineReport>> MachineRun::collect(const RunResult& result,
                                                              const std::filesystem::path& folder) {
  std::vector<std::optional<MachineReport>> reports;
  for (const std::optional<std::string>& bytes : machines_.gather_from_present(bytes_of(report_of(result))))
    reports.push_back(bytes ? std::optional(machine_report(*bytes)) : std::nullopt);
  ask_of_ends(reports);
  if (reports[0]->source) readings_[0].push_back(*reports[0]->source);
  const std::vector<ClockFit> before = fits_;
  machines_.be_quick(true);
  for (uint32_t machine = 1; machine < machines_.count(); ++machine)
    if (reports[machine]) add_samples(machine, kPings);
  machines_.be_quick(false);
  for (uint32_t machine = 1; machine < machines_.count(); ++machine) fit_after_run(machine, reports[machine]);
  for (uint32_t machine = 0; machine < machines_.count(); ++machine) {
    const ClockFit& fit = fits_[machine];
    RecordPart& part = parts_.emplace_back(
        RecordPart{.machine = machines_.name(machine),
                   .file = {},
                   .clock = {.offset = Duration((fit.offset_at(start_) - before[machine].offset_at(start_)) * 1000),
                             .drift = fit.drift,
                             .error = fit.error_after(result.total)},
                   .verdict = "gone",
                   .reason = "nothing was heard of it any more"});
    if (machine == 0) part.clock = {};
    if (reports[machine]) part.verdict = to_string(reports[machine]->verdict), part.reason = reports[machine]->reason;
  }
  fetch(folder, reports);
  return reports;
}

void MachineRun::ask_of_ends(std::span<const std::optional<MachineReport>> reports) {
  const std::vector<std::vector<ConnectionId>> asked = untold_ends({setup_, shares_, machines_.names(), reports});
  for (uint32_t machine = 1; machine < machines_.count(); ++machine)
    machines_.send(machine, MachineTag::kOrder, question_bytes(asked[machine]));
  for (const std::optional<std::string>& bytes : machines_.gather_from_present(answer_bytes(asked[0], ends_)))
    answers_.push_back(bytes ? views_of_answer(*bytes) : ConnectionViews());
}

std::optional<StallRow> MachineRun::stall(std::span<const std::optional<MachineReport>> reports) {
  const ToldMachines told{setup_, shares_, machines_.names(), reports};
  for (std::string& finding : stall_findings(told, answers_)) findings_.push_back(std::move(finding));
  std::vector<ClockCorrection> clocks;
  for (const RecordPart& part : parts_) clocks.push_back(part.clock);
  return joined_stall(told, answers_, clocks);
}

void MachineRun::tell_lost_links(std::span<const std::optional<MachineReport>> reports, RunResult& result,
                                 RunEnd& end) const {
  rankwire::tell_lost_links({setup_, shares_, machines_.names(), reports}, result, end);
}

/// Where the source has left the bounds of the pings since the start, these are what is known.
void MachineRun::fit_after_run(uint32_t machine, const std::optional<MachineReport>& report) {
  if (!source_) {
    fits_[machine] = pinged_[machine];
    return;
  }
  if (report && report->source) readings_[machine].push_back(*report->source);
  fits_[machine] = fit_by_source(readings_[0], readings_[machine], setup_.config.clock.source_error);
  const std::vector<ClockSample>& samples = samples_[machine];
  if (!report) return;  // it was asked before the run alone, and the source knows that better
  if (report->source && can_both_be(pinged_[machine], fits_[machine], start_) &&
      can_both_be(pinged_[machine], fits_[machine], samples.back().sent))
    return;
  fits_[machine] = pinged_[machine];
  findings_.push_back(fmt::format(
      "the clock of machine '{}' left clock.source ({}) while the run went on: its times are corrected by pings",
      machines_.name(machine), source_->name()));
}

// Machines of one name have one file system, and so may have others; but of those nobody knows.
void MachineRun::fetch(const std::filesystem::path& folder, std::span<const std::optional<MachineReport>> reports) {
  std::string asked = " ";
  const auto is_far = [&](uint32_t machine) { return machines_.system_name(machine) != machines_.system_name(0); };
  for (uint32_t machine = 1; machine < machines_.count(); ++machine)
    if (reports[machine] && is_far(machine)) asked += fmt::format("{} ", machine);
  machines_.from_leader(asked);
  for (uint32_t machine = 0; machine < machines_.count(); ++machine) {
    const std::filesystem::path file = part_folder(folder, machines_.name(machine)) / "run.sqlite";
    if (reports[machine] && is_far(machine)) receive_part(machine, file);
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) parts_[machine].file = file;
  }
}

// Under another name until it is complete: the machine may see the same folder, and read what is replaced.
void MachineRun::receive_part(uint32_t machine, const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  std::filesystem::path coming = file;
  coming += ".coming";
  std::ofstream out(coming, std::ios::binary | std::ios::trunc);
  for (;;) {
    const std::string piece = machines_.take(machine, MachineTag::kPart);
    if (piece.empty()) break;
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  }
  out.close();
  if (!out) fail_run("{}: cannot be written", coming.string());
  std::filesystem::rename(coming, file);
}

}  // namespace rankwire
