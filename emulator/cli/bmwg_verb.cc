#include "emulator/cli/bmwg_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <thread>

#include "base/child_process.h"
#include "base/error.h"
#include "base/log.h"
#include "dataplane/dpdk/presence.h"
#include "dataplane/dpdk/vdev.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/kpis.h"
#include "emulator/cli/host_facts.h"
#include "emulator/cli/interrupt.h"
#include "emulator/suite/suite.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Of a run that is late, as `late` says. Throws BmwgUndecided where for half of its time it had no core to run on:
/// that is no device's doing.
std::string explain_lateness(const BmwgRun& run, const std::string& late, std::chrono::nanoseconds waited) {
  if (waited * 2 < run.patience) return late;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  throw BmwgUndecided(fmt::format("{}: {}, for {} s of which it waited for a core: a quieter machine is needed",
                                  run.folder.filename().string(), late, seconds));
}

/// Runs in a process of its own, so that a device that vanishes takes nothing but the run with it.
std::string run_process(const BmwgRun& run, bool twin) {
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe")};
  command.insert(command.end(), {twin ? "simulate" : "run", run.config});
  if (twin) command.push_back("--twin");
  for (const std::string& setting : run.settings) command.insert(command.end(), {"--set", setting});
  command.insert(command.end(), {"--quiet", "--force", "--out", run.folder});
  const std::filesystem::path log = run.folder.string() + ".log";
  ChildProcess process(command, log);
  const auto end = std::chrono::steady_clock::now() + run.patience;
  bool told = false;
  std::chrono::nanoseconds waited{0};
  while (!process.status()) {
    const bool late = std::chrono::steady_clock::now() >= end;
    if ((late || interrupt_flag()) && !std::exchange(told, true)) {
      waited = process.longest_wait();
      process.signal(SIGINT);
    }
    if (std::chrono::steady_clock::now() >= end + std::chrono::seconds(10))
      return explain_lateness(run, "did not end when it was told to", process.longest_wait());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (told && !interrupt_flag())
    return explain_lateness(
        run,
        fmt::format("did not end within {} s", std::chrono::duration_cast<std::chrono::seconds>(run.patience).count()),
        waited);
  if (std::filesystem::exists(run.folder / "summary.json")) {
    std::filesystem::remove(log);
    return {};
  }
  return last_words(log);
}

/// The suite's configuration as far as it does not depend on a workload.
RunConfig load_base(const BmwgSuite& suite, std::span<const std::string> further = {}) {
  std::vector<std::string> settings = {"jobs=null",
                                       "background=null",
                                       "limits=null",
                                       "workload=null",
                                       "workload.generate.kind=collective",
                                       "workload.generate.collective.ranks=2"};
  settings.insert(settings.end(), suite.settings.begin(), suite.settings.end());
  settings.insert(settings.end(), further.begin(), further.end());
  RunConfig config = load_config(suite.base.string(), settings);
  if (config.ports.empty()) fail_input("{}: has no ports", suite.base.string());
  return config;
}

BmwgParameters parameters_of(const BmwgTest& test, const BmwgSuite& suite, bool quick) {
  BmwgParameters parameters(test.parameters, quick);
  for (const BmwgSuite::Override& item : suite.overrides) {
    if (!selects(item.select, test.id)) continue;
    for (const Tree::Entry& entry : item.parameters.entries)
      if (entry.key != "select" && entry.key != "set") parameters.set(entry.key, entry.value);
  }
  return parameters;
}

std::vector<std::string> settings_of(const BmwgTest& test, const BmwgSuite& suite) {
  std::vector<std::string> settings;
  for (const BmwgSuite::Override& item : suite.overrides)
    if (selects(item.select, test.id)) settings.insert(settings.end(), item.settings.begin(), item.settings.end());
  return settings;
}

/// Everything that the cases of a suite have in common; outlives them.
struct BmwgSession {
  BmwgSession(const BmwgRequest& request, BmwgSuite read)
      : suite(std::move(read)),
        base(load_base(suite)),
        twin(request.twin),
        runner([twin = request.twin](const BmwgRun& run) { return run_process(run, twin); }) {
    // In virtual time no device has any traffic, and what one counts and does is none of the twin's.
    if (request.twin) suite.hooks.swap(unasked);
  }

  BmwgSuite suite;
  std::map<std::string, std::string> unasked;  ///< hooks of the lab
  RunConfig base;
  bool twin;
  BmwgRunner runner;
};

/// What `--quick` scales down is told apart from what the suite has of its own.
std::string parameters_text(const BmwgParameters& parameters, bool quick) {
  if (!quick) return parameters.text();
  const std::string scaled = parameters.text(false), own = parameters.text(true);
  return fmt::format("{}{}{}{}{}", scaled.empty() ? "" : "scaled down by --quick: ", scaled,
                     scaled.empty() || own.empty() ? "" : "; ", own.empty() ? "" : "of the suite: ", own);
}

/// The ports' network interfaces as they are before a test.
std::vector<DevicePresence> interfaces_of(const RunConfig& base) {
  std::vector<DevicePresence> interfaces;
  for (const PortConfig& port : base.ports)
    if (!port.embedded() && !port.is_rdma_device() && !vdev_value(port.device, "iface").empty())
      interfaces.emplace_back(port.device);
  return interfaces;
}

/// Carries out a test during which a port may vanish: it says nothing about the device under test, whatever the other
/// ports saw.
CaseOutcome carry_out_on(const std::vector<DevicePresence>& interfaces, const std::function<CaseOutcome()>& test) {
  CaseOutcome outcome;
  try {
    outcome = test();
  } catch (const std::exception& error) {
    outcome = CaseOutcome::error(error.what());
  }
  for (const DevicePresence& interface : interfaces) {
    const std::string absence = interface.absence();
    if (absence.empty()) continue;
    // A run in which it happened says so itself.
    if (outcome.reason.find(absence) == std::string::npos)
      outcome.reason = outcome.reason.empty() ? absence : fmt::format("{}; {}", absence, outcome.reason);
    outcome.verdict = CaseVerdict::kError;
    break;
  }
  return outcome;
}

/// What a test would have been told by hooks that are not asked; empty: nothing.
std::string unasked_text(const BmwgTest& test, const BmwgSession& session, const BmwgBench& bench) {
  std::vector<std::string> names;
  const std::string_view needs = test.needs;
  // Of embedded switches the counters of links are known without it.
  const bool is_counted = !needs.starts_with(kOfDevices) || !bench.is_embedded();
  if (is_counted && needs.find("`counters`") != needs.npos && session.unasked.contains("counters"))
    names.emplace_back("`counters`");
  if (*test.mirrored != 0 && session.unasked.contains("mirror")) names.emplace_back("`mirror`");
  if (names.empty()) return {};
  return fmt::format("--twin asks no device, so that what {} would have told is left out", fmt::join(names, " and "));
}

/// What a test is told to ask of the device's mirrored port; empty: nothing.
std::string mirror_text(const BmwgTest& test, const BmwgBench& bench) {
  if (*test.mirrored == 0) return {};
  return fmt::format("{} by the hook `mirror`{}", test.mirrored,
                     bench.has_hook("mirror") ? ", before and after each run" : ": not seen, there is none");
}

/// A test of the catalogue as the suite has it.
TestCase case_of(const BmwgTest& test, const BmwgSession& session, bool quick) {
  BmwgParameters parameters = parameters_of(test, session.suite, quick);
  const std::vector<std::string> settings = settings_of(test, session.suite);
  const auto base = std::make_shared<const RunConfig>(load_base(session.suite, settings));
  const auto bench_for = [&session, base, settings](const CaseContext& context, std::chrono::milliseconds allowed) {
    return BmwgBench(session.suite, *base, session.runner, context, settings, allowed);
  };
  TestCase made;
  made.id = test.id;
  made.title = test.title;
  made.expectation = test.expectation;
  made.source = test.source;
  static const std::atomic<bool> kGoesOn = false;
  const CaseContext nowhere{{}, kGoesOn};
  const BmwgBench bench = bench_for(nowhere, {});
  check_sizes(test, session.suite, bench);
  made.lacks = test.lacks(bench, parameters);
  const std::string cut = made.lacks.empty() ? fit_accelerators(test, bench, parameters) : "";
  if (made.lacks.empty()) check_values(test, session.suite, bench, parameters);
  // Embedded switches tell by themselves what a mirrored port would.
  const bool is_mirrored = bench.has_hook("mirror") || (!bench.is_embedded() && !session.unasked.contains("mirror"));
  const std::string mirror = is_mirrored ? mirror_text(test, bench) : "";
  const std::string unasked = unasked_text(test, session, bench);
  const std::string values = parameters_text(parameters, quick);
  made.stimulus =
      values.empty() ? test.stimulus : fmt::format("{} ({}{})", test.stimulus, values, cut.empty() ? "" : "; " + cut);
  if (!mirror.empty()) made.stimulus += "; " + mirror;
  if (made.lacks.empty())
    made.duration = std::chrono::milliseconds(static_cast<int64_t>(test.seconds(bench, parameters) * 1000));
  // A machine that others use, or a device that stands still again and again, ends a test and not the suite.
  const std::chrono::milliseconds allowed = 10 * made.duration + std::chrono::minutes(5);
  made.run = [bench_for, base, &test, parameters, allowed, lacks = made.lacks, cut, unasked,
              twin = session.twin](const CaseContext& context) {
    if (!lacks.empty()) return CaseOutcome::skipped(lacks);
    BmwgBench used = bench_for(context, allowed);
    const std::vector<DevicePresence> interfaces = twin ? std::vector<DevicePresence>() : interfaces_of(*base);
    CaseOutcome outcome = carry_out_on(interfaces, [&] { return carry_out(test, used, parameters); });
    if (!unasked.empty()) outcome.anomalies.insert(outcome.anomalies.begin(), unasked);
    // Of a list the test itself says what it left out.
    if (test.ranks != nullptr && !cut.empty()) outcome.anomalies.insert(outcome.anomalies.begin(), cut);
    return outcome;
  };
  return made;
}

std::vector<TestCase> cases_of(const BmwgSession& session, const BmwgRequest& request) {
  std::vector<TestCase> cases;
  for (const BmwgTest& test : bmwg_catalogue()) cases.push_back(case_of(test, session, request.quick));
  return select_cases(std::move(cases), request.run.only);
}

int list_tests(const BmwgRequest& request) {
  Json list = Json::array();
  for (const BmwgTest& test : bmwg_catalogue()) {
    Json parameters = Json::object();
    for (const ParameterDefault& parameter : test.parameters)
      parameters[parameter.name] = {{"draft", parameter.draft}, {"quick", parameter.quick}};
    if (request.run.json) {
      Json kpis = Json::array();
      for (const BmwgKpi* kpi : kpis_of(test.id)) kpis.push_back({{"name", kpi->name}, {"measured", kpi->measured}});
      list.push_back({{"id", test.id},
                      {"title", test.title},
                      {"stimulus", test.stimulus},
                      {"expectation", test.expectation},
                      {"source", test.source},
                      {"needs", test.needs},
                      {"mirror", test.mirrored},
                      {"kpis", std::move(kpis)},
                      {"parameters", std::move(parameters)}});
    } else {
      fmt::print("{:<18} {}{}{}\n", test.id, test.title, *test.needs == 0 ? "" : fmt::format("; needs {}", test.needs),
                 *test.mirrored == 0 ? "" : fmt::format("; asks the hook `mirror` for {}", test.mirrored));
    }
  }
  if (request.run.json) {
    fmt::print("{}\n", list.dump(2));
    return 0;
  }
  fmt::print("\nKPIs of the drafts, by whom they are measured:\n");
  for (const BmwgKpi& kpi : bmwg_kpis())
    fmt::print("{:<31} {}\n", kpi.name, *kpi.measured == 0 ? fmt::format("not here: {}", kpi.tests) : kpi.tests);
  return 0;
}

int plan_tests(const BmwgRequest& request) {
  const BmwgSession session(request, read_bmwg_suite(request.suite));
  const std::vector<TestCase> cases = cases_of(session, request);
  std::chrono::milliseconds all{0};
  size_t skipped = 0;
  Json list = Json::array();
  for (const TestCase& test : cases) {
    all += test.duration;
    skipped += test.lacks.empty() ? 0 : 1;
    list.push_back({{"id", test.id},
                    {"title", test.title},
                    {"stimulus", test.stimulus},
                    {"seconds", static_cast<double>(test.duration.count()) / 1000},
                    {"skipped", test.lacks.empty() ? Json(nullptr) : Json(test.lacks)}});
    if (request.run.json) continue;
    if (test.lacks.empty()) {
      fmt::print("{:<18} {:>9}  {}\n", test.id, lasting(test.duration), test.stimulus);
    } else {
      fmt::print("{:<18} {:>9}  {}\n", test.id, "skipped", test.lacks);
    }
  }
  if (request.run.json) {
    fmt::print("{}\n", Json{{"tests", std::move(list)}, {"seconds", static_cast<double>(all.count()) / 1000}}.dump(2));
  } else {
    fmt::print("{} tests, {} of them skipped, about {} of traffic at the rate of ports {}{}; nothing was sent\n",
               cases.size(), skipped, lasting(all), session.base.ports.front().name,
               session.base.ports.size() > 1 ? " to " + session.base.ports.back().name : "");
  }
  return 0;
}

/// Before anything is sent to a device that may be somebody's network.
void ask_about_ports(const BmwgRequest& request, const RunConfig& base) {
  std::vector<std::string> foreign;
  for (const PortConfig& port : base.ports)
    if (!port.embedded())
      foreign.push_back(fmt::format("{} ({})", port.name, port.is_rdma_device() ? port.verbs : port.device));
  if (request.twin || foreign.empty()) return;
  require_consent(request.run,
                  fmt::format("these benchmarks send at line rate, provoke loss and pauses, and may bring a "
                              "network down that others use; they send on {}",
                              fmt::join(foreign, ", ")));
}

/// FNV-1a, by which a suite that is resumed knows its configuration.
uint64_t digest_of(std::string_view text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

std::map<std::string, std::string> properties_of(const BmwgRequest& request, const BmwgSession& session) {
  std::map<std::string, std::string> properties;
  for (const auto& [key, value] : host_facts()) properties["host." + key] = value;
  // What the suite says of its host comes instead.
  for (const auto& [group, texts] :
       {std::pair("dut", &session.suite.dut), {"topology", &session.suite.topology}, {"host", &session.suite.host}})
    for (const auto& [key, value] : *texts) properties[fmt::format("{}.{}", group, key)] = value;
  std::vector<std::string> ports;
  for (const PortConfig& port : session.base.ports)
    ports.push_back(fmt::format("{} ({}, {:g} Gbit/s)", port.name, port.is_rdma_device() ? port.verbs : port.device,
                                static_cast<double>(port.rate.bits_per_second) / 1e9));
  properties["topology.ports"] = fmt::format("{}", fmt::join(ports, ", "));
  properties["test.configuration"] = session.suite.base.string();
  properties["test.digest of the configuration"] = fmt::format("{:016x}", digest_of(resolved_json(session.base)));
  properties["test.settings"] = fmt::format("{}", fmt::join(session.suite.settings, " "));
  properties["test.emulated by"] = request.twin ? "the packet-level twin, in virtual time" : "rankwire, in real time";
  properties["test.scale"] =
      request.quick ? "quick: sizes, durations and repetitions are not the draft's" : "as in the draft";
  return properties;
}

int run_tests(const BmwgRequest& request) {
  const BmwgSession session(request, read_bmwg_suite(request.suite));
  const std::vector<TestCase> cases = cases_of(session, request);
  ask_about_ports(request, session.base);
  SuiteKpis kpis;
  for (const TestCase& test : cases) kpis[test.id] = measured_names_of(test.id);
  std::vector<std::string> catalogue;
  for (const BmwgTest& test : bmwg_catalogue()) catalogue.emplace_back(test.id);
  return run_suite_cases(cases,
                         {.name = "bmwg",
                          .title = "IETF BMWG benchmarks of AI fabrics: " + session.suite.name,
                          .standard = std::filesystem::path("runs") / session.suite.name,
                          .properties = properties_of(request, session),
                          .kpis = std::move(kpis),
                          .catalogue = std::move(catalogue)},
                         request.run);
}

}  // namespace

void add_bmwg_verb(CLI::App& app, BmwgRequest& request, bool& quiet, int& status) {
  CLI::App& verb =
      *app.add_subcommand("bmwg", "benchmarks of the IETF's drafts on AI fabrics: list, plan and run them");
  verb.require_subcommand(1);
  verb.footer("Example: rankwire bmwg run configs/bmwg/quick.yaml --quick");
  CLI::App& list = *verb.add_subcommand("list", "the tests, and what they need");
  list.add_flag("--json", request.run.json, "print JSON");
  list.footer("Example: rankwire bmwg list --json");
  list.callback([&] { status = list_tests(request); });

  const auto add_common = [&](CLI::App& common) {
    common.add_option("SUITE", request.suite, "suite (docs/bmwg.md)")->required();
    common.add_flag("--quick", request.quick, "sizes, durations and repetitions for minutes instead of days");
    add_selection_options(common, request.run);
  };
  CLI::App& plan = *verb.add_subcommand("plan", "what would be run, and how long it takes; nothing is sent");
  add_common(plan);
  plan.footer("Example: rankwire bmwg plan configs/bmwg/quick.yaml --only 'T5.*'");
  plan.callback([&] { status = plan_tests(request); });

  CLI::App& run = *verb.add_subcommand("run", "run the tests and write the report");
  add_common(run);
  add_suite_options(run, request.run, "runs/NAME");
  run.add_flag("--twin", request.twin, "packet by packet in virtual time instead; no device is touched");
  run.add_flag("--quiet", quiet, "print errors only");
  run.footer(
      "Example: rankwire bmwg run configs/bmwg/quick.yaml --quick --only 'T1.*' --out runs/t1\n"
      "     or: rankwire bmwg run configs/bmwg/quick.yaml --quick --gate gates.txt");
  run.callback([&] { status = run_tests(request); });
}

}  // namespace rankwire
