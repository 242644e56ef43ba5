#include "emulator/bmwg/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "base/error.h"
#include "converters/node_writer.h"
#include "emulator/hooks/hook.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Beyond what a measurement takes by itself: start, connections, models and report.
constexpr std::chrono::milliseconds kOverhead{60'000};

/// Calls of a collective that do not count.
constexpr uint32_t kWarmUp = 5;

std::chrono::milliseconds patience_for(Duration length) {
  return std::chrono::milliseconds(length.ps / 1'000'000'000 * 10) + kOverhead;
}

Json read_summary(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return Json::parse(in, nullptr, false);
}

/// Of tables whose texts need no quotation marks: names of ports and numbers.
std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

/// A run was of no use: for the generator's sake, or for that of the device or of nobody knows whom.
[[noreturn]] void fail_or_leave_open(const BmwgMeasurement& run, const std::string& name, const std::string& why) {
  if (run.generator_limited())
    throw BmwgUndecided(fmt::format("{}: {}, and the generator may have set the pace: its report says why", name, why));
  fail_run("{}: {}", name, why);
}

/// What had to come to its end, if it did.
BmwgMeasurement ended(BmwgMeasurement run, const std::string& name) {
  if (!run.ended_well()) fail_or_leave_open(run, name, run.reason());
  return run;
}

/// A rank that computes for as long as flows are measured.
void write_idle_trace(const std::string& prefix, Duration length) {
  NodeWriter writer(trace_file(prefix, 0));
  writer.compute("measuring", static_cast<uint64_t>((length.ps + 999'999) / 1'000'000), 0, Bytes(), {});
  writer.close();
}

}  // namespace

uint64_t BmwgMeasurement::counter(const char* name) const {
  const auto transport = summary_.find("transport");
  return transport == summary_.end() || !transport->is_object() ? 0 : transport->value(name, uint64_t{0});
}

double BmwgMeasurement::share_of_packets(const char* name) const {
  const auto packets = static_cast<double>(counter("data_packets_rx"));
  return packets > 0 ? static_cast<double>(counter(name)) / packets : 0;
}

std::vector<std::map<std::string, std::string>> BmwgMeasurement::rows(const char* table) const {
  const std::filesystem::path file = folder_ / (std::string(table) + ".csv");
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) fail_run("{}: cannot be read", file.string());
  const std::vector<std::string> columns = split_fields(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(in, line)) {
    std::map<std::string, std::string>& row = rows.emplace_back();
    const std::vector<std::string> fields = split_fields(line);
    for (size_t i = 0; i < std::min(columns.size(), fields.size()); ++i) row[columns[i]] = fields[i];
    const auto side = row.find("fidelity");
    if (side != row.end() && side->second != "emulated" && side->second != "twin") rows.pop_back();
  }
  return rows;
}

std::vector<double> BmwgMeasurement::packets_by_flow() const {
  std::map<std::string, double> packets;
  for (const auto& row : rows("flows"))
    packets[row.at("connection")] += std::stod(row.at("packets")) - std::stod(row.at("retransmitted"));
  std::vector<double> list;
  for (const auto& [connection, sum] : packets) list.push_back(sum);
  return list;
}

double BmwgMeasurement::longest_pause() const {
  double longest = 0;
  for (const auto& row : rows("ports"))
    for (int priority = 0; priority < 8; ++priority) {
      const auto cell = row.find(fmt::format("paused_{}_ps", priority));
      if (cell != row.end() && !cell->second.empty()) longest = std::max(longest, std::stod(cell->second) * 1e-12);
    }
  return longest;
}

double BmwgMeasurement::lost_ppm() const {
  double packets = 0, lost = 0;
  for (const auto& row : rows("losses")) {
    packets += std::stod(row.at("packets"));
    lost += std::stod(row.at("lost"));
  }
  return packets > 0 ? lost / packets * 1e6 : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> BmwgMeasurement::queue_depths() const {
  std::vector<double> depths;
  for (const auto& row : rows("queues"))
    if (const double bytes = std::stod(row.at("queue_bytes")); bytes > 0) depths.push_back(bytes);
  std::ranges::sort(depths);
  return depths;
}

const Json& BmwgMeasurement::background(std::string_view name) const {
  static const Json kNone = nullptr;
  for (const Json& entry : summary_.at("background"))
    if (entry.at("name") == name) return entry.at("emulated");
  return kNone;
}

double BmwgMeasurement::carried(std::string_view name, const char* figure) const {
  const Json& entry = background(name);
  return entry.is_object() && entry.at(figure).is_number() ? entry.at(figure).get<double>() : 0;
}

double BmwgMeasurement::completion_of(const char* side) const {
  const auto run = summary_.find(side);
  if (run == summary_.end() || !run->is_object()) return std::numeric_limits<double>::quiet_NaN();
  const auto time = run->find("completion_time_ps");
  return time == run->end() || !time->is_number() ? std::numeric_limits<double>::quiet_NaN()
                                                  : time->get<double>() * 1e-12;
}

const Json& BmwgMeasurement::only_size() const {
  const Json& row = summary_.at("collective").at("sizes").at(0);
  if (row.at("emulated").is_null()) fail_or_leave_open(*this, folder_.filename().string(), "no call came to its end");
  return row;
}

bool BmwgMeasurement::ended_well() const {
  const std::string verdict = summary_.value("verdict", "failed");
  // A limit of its own it has none.
  return verdict == "ok" || verdict == "degraded";
}

std::string BmwgMeasurement::reason() const {
  // What it was about is on the first line, who waits for whom behind it.
  const std::string reason = summary_.value("reason", "no reason is known");
  return fmt::format("{}: {}", summary_.value("verdict", "failed"), reason.substr(0, reason.find('\n')));
}

BmwgBench::BmwgBench(const BmwgSuite& suite, const RunConfig& base, const BmwgRunner& runner,
                     const CaseContext& context, std::vector<std::string> settings, std::chrono::milliseconds allowed)
    : suite_(suite),
      base_(base),
      runner_(runner),
      context_(context),
      settings_(std::move(settings)),
      allowed_(allowed) {}

std::string BmwgBench::port_names(size_t first, size_t count) const {
  std::string names;
  for (size_t i = 0; i < count; ++i) names += (i == 0 ? "" : ", ") + port((first + i) % ports());
  return names;
}

double BmwgBench::rate() const {
  Bandwidth slowest(INT64_MAX);
  for (const PortConfig& port : base_.ports) slowest = std::min(slowest, port.rate);
  return static_cast<double>(slowest.bits_per_second);
}

uint32_t BmwgBench::npus() const {
  return base_.hosts.count.value_or(static_cast<uint32_t>(base_.ports.size())) * base_.hosts.npus.value_or(1);
}

bool BmwgBench::is_embedded() const {
  return std::ranges::all_of(base_.ports, [](const PortConfig& port) { return port.embedded(); });
}

BmwgMeasurement BmwgBench::attempt(const std::string& name, std::vector<std::string> settings, Duration length) {
  if (std::chrono::steady_clock::now() - began_ >= allowed_)
    throw BmwgUndecided(fmt::format(
        "it took longer than {} s, ten times what it measures and five minutes, and ended before {}: {} of its runs "
        "were carried out; a faster machine or fewer values (docs/bmwg.md) are needed",
        std::chrono::duration_cast<std::chrono::seconds>(allowed_).count(), name, runs_));
  std::vector<std::string> all = {"name=" + name, "jobs=null", "background=null", "limits=null"};
  std::ranges::copy(suite_.settings, std::back_inserter(all));
  std::ranges::copy(settings_, std::back_inserter(all));
  std::ranges::move(settings, std::back_inserter(all));
  // A run that is slower than it should be is a result, one that stands still is found by run.stall_timeout.
  all.push_back(fmt::format("run.deadline={}s", 30 + length.ps / 1'000'000'000'000 * 5));
  const std::filesystem::path folder = run_folder(name);
  const std::string wrong = runner_({suite_.base.string(), std::move(all), folder, patience_for(length)});
  if (context_.interrupted) fail_run("interrupted");
  if (!wrong.empty()) fail_run("{}: {}", name, wrong);
  Json summary = read_summary(folder / "summary.json");
  if (!summary.is_object()) fail_run("{}: the run left no summary in {}", name, folder.string());
  ++runs_;
  return {std::move(summary), folder};
}

BmwgMeasurement BmwgBench::attempt_flows(const std::string& name, const std::string& entries, Duration length,
                                         std::vector<std::string> settings) {
  const std::string prefix = trace_prefix(name + "-idle");
  write_idle_trace(prefix, length);
  // After `attempt` has removed the configuration's own.
  settings.insert(settings.begin(), {"workload=null", "workload.traces=" + std::filesystem::absolute(prefix).string(),
                                     "background=[" + entries + "]"});
  return attempt(name, std::move(settings), length);
}

BmwgMeasurement BmwgBench::measure(const std::string& name, std::vector<std::string> settings, Duration length) {
  return ended(attempt(name, std::move(settings), length), name);
}

BmwgMeasurement BmwgBench::measure_flows(const std::string& name, const std::string& entries, Duration length,
                                         std::vector<std::string> settings) {
  return ended(attempt_flows(name, entries, length, std::move(settings)), name);
}

std::vector<std::string> BmwgBench::sampling() const {
  if (!is_embedded()) return {};
  return {"record.fabric_interval=20us"};
}

double BmwgBench::seconds_of_calls(uint32_t ranks, Bytes size, uint32_t iterations) const {
  const double of_port = std::ceil(static_cast<double>(ranks) / static_cast<double>(ports()));
  return 2.0 * static_cast<double>(size.count) * (iterations + std::min(kWarmUp, iterations)) * 8 * of_port / rate();
}

BmwgMeasurement BmwgBench::measure_collective(const std::string& name, std::string_view operation, uint32_t ranks,
                                              Bytes size, uint32_t iterations, std::vector<std::string> settings) {
  return ended(attempt_collective(name, operation, ranks, size, iterations, std::move(settings)), name);
}

BmwgMeasurement BmwgBench::attempt_collective(const std::string& name, std::string_view operation, uint32_t ranks,
                                              Bytes size, uint32_t iterations, std::vector<std::string> settings) {
  const std::string series = "workload.generate.collective.";
  std::vector<std::string> all = {"workload=null",
                                  "workload.generate.kind=collective",
                                  fmt::format("{}operation={}", series, operation),
                                  fmt::format("{}ranks={}", series, ranks),
                                  fmt::format("{}min={}B", series, size.count),
                                  fmt::format("{}max={}B", series, size.count),
                                  fmt::format("{}warmup={}", series, std::min(kWarmUp, iterations)),
                                  fmt::format("{}iterations={}", series, iterations)};
  std::ranges::move(settings, std::back_inserter(all));
  const double length = seconds_of_calls(ranks, size, iterations);
  return attempt(name, std::move(all), Duration(static_cast<int64_t>(std::min(length * 1e12, 8e17))));
}

LinkBytes BmwgBench::uplinks(const BmwgMeasurement& run) const {
  std::set<std::string> ports, leaves;
  for (const PortConfig& port : base_.ports) ports.insert(port.name);
  LinkBytes links;
  for (const auto& row : run.rows("ports")) {
    const std::string& name = row.at("name");
    const size_t dot = name.find('.');
    if (dot == std::string::npos) continue;
    if (ports.contains(name.substr(dot + 1))) {
      leaves.insert(name.substr(0, dot));
    } else {
      links[name] = std::stod(row.at("tx_bytes"));
    }
  }
  std::erase_if(links, [&](const auto& link) { return !leaves.contains(link.first.substr(0, link.first.find('.'))); });
  return links;
}

void BmwgBench::hook(const std::string& name) const {
  run_hook(name, suite_.hooks.at(name), suite_.hook_patience, context_.interrupted);
}

void BmwgBench::mending_hook(const std::string& name) const {
  static const std::atomic<bool> kNever{false};
  run_hook(name, suite_.hooks.at(name), suite_.hook_patience, kNever);
}

std::string BmwgBench::hook_text(const std::string& name) const {
  return fmt::format("{}: '{}'", name, suite_.hooks.at(name));
}

Json BmwgBench::printed_by(const std::string& hook) const {
  const auto command = suite_.hooks.find(hook);
  if (command == suite_.hooks.end()) return nullptr;
  const std::string text = run_hook(hook, command->second, suite_.hook_patience, context_.interrupted);
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) fail_run("{} printed no JSON object; {}", hook_text(hook), words_of_hook(text));
  return json;
}

Json BmwgBench::mirror() const {
  return printed_by("mirror");
}

Json BmwgBench::counters() const {
  Json json = printed_by("counters");
  if (json.is_null()) return json;
  if (json.empty()) fail_run("{} printed an object without a counter", hook_text("counters"));
  for (const auto& [name, value] : json.items()) {
    if (value.is_number() || (name == "links" && value.is_object())) continue;
    fail_run("{} printed {} of '{}', which is no number", hook_text("counters"), value.dump(), name);
  }
  return json;
}

}  // namespace rankwire
