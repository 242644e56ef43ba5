#include "emulator/cli/bmwg_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/cli/child_process.h"
#include "emulator/cli/interrupt.h"
#include "emulator/suite/suite.h"
#include "emulator/suite/suite_report.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

std::string last_line(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last.empty() ? "it ended without a word" : last;
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
  while (!process.status()) {
    const bool late = std::chrono::steady_clock::now() >= end;
    if ((late || interrupt_flag()) && !std::exchange(told, true)) process.signal(SIGINT);
    if (std::chrono::steady_clock::now() >= end + std::chrono::seconds(10)) return "did not end when it was told to";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (told && !interrupt_flag())
    return fmt::format("did not end within {} s",
                       std::chrono::duration_cast<std::chrono::seconds>(run.patience).count());
  if (std::filesystem::exists(run.folder / "summary.json")) {
    std::filesystem::remove(log);
    return {};
  }
  return last_line(log);
}

/// The suite's configuration as far as it does not depend on a workload.
RunConfig load_base(const BmwgSuite& suite) {
  std::vector<std::string> settings = {"jobs=null",
                                       "background=null",
                                       "limits=null",
                                       "workload=null",
                                       "workload.generate.kind=collective",
                                       "workload.generate.collective.ranks=2"};
  settings.insert(settings.end(), suite.settings.begin(), suite.settings.end());
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
        runner([twin = request.twin](const BmwgRun& run) { return run_process(run, twin); }) {}

  BmwgSuite suite;
  RunConfig base;
  BmwgRunner runner;
};

std::vector<TestCase> cases_of(const BmwgSession& session, const BmwgRequest& request) {
  std::vector<TestCase> cases;
  for (const BmwgTest& test : bmwg_catalogue()) {
    const BmwgParameters parameters = parameters_of(test, session.suite, request.quick);
    TestCase made;
    made.id = test.id;
    made.title = test.title;
    made.stimulus =
        fmt::format("{} ({}{})", test.stimulus, request.quick ? "scaled down by --quick: " : "", parameters.text());
    made.expectation = test.expectation;
    made.source = test.source;
    made.duration = std::chrono::milliseconds(static_cast<int64_t>(test.seconds(parameters) * 1000));
    made.run = [&session, &test, parameters](const CaseContext& context) {
      BmwgBench bench(session.suite, session.base, session.runner, context, settings_of(test, session.suite));
      return test.run(bench, parameters);
    };
    cases.push_back(std::move(made));
  }
  return select_cases(std::move(cases), request.only);
}

std::string lasting(std::chrono::milliseconds time) {
  const double seconds = static_cast<double>(time.count()) / 1000;
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

int list_tests(const BmwgRequest& request) {
  Json list = Json::array();
  for (const BmwgTest& test : bmwg_catalogue()) {
    Json parameters = Json::object();
    for (const ParameterDefault& parameter : test.parameters)
      parameters[parameter.name] = {{"draft", parameter.draft}, {"quick", parameter.quick}};
    if (request.json) {
      list.push_back({{"id", test.id},
                      {"title", test.title},
                      {"stimulus", test.stimulus},
                      {"expectation", test.expectation},
                      {"source", test.source},
                      {"needs", test.needs},
                      {"parameters", std::move(parameters)}});
    } else {
      fmt::print("{:<18} {}{}\n", test.id, test.title, *test.needs == 0 ? "" : fmt::format("; needs {}", test.needs));
    }
  }
  if (request.json) fmt::print("{}\n", list.dump(2));
  return 0;
}

int plan_tests(const BmwgRequest& request) {
  const BmwgSession session(request, read_bmwg_suite(request.suite));
  const std::vector<TestCase> cases = cases_of(session, request);
  std::chrono::milliseconds all{0};
  Json list = Json::array();
  for (const TestCase& test : cases) {
    all += test.duration;
    list.push_back({{"id", test.id},
                    {"title", test.title},
                    {"stimulus", test.stimulus},
                    {"seconds", static_cast<double>(test.duration.count()) / 1000}});
    if (!request.json) fmt::print("{:<18} {:>9}  {}\n", test.id, lasting(test.duration), test.stimulus);
  }
  if (request.json) {
    fmt::print("{}\n", Json{{"tests", std::move(list)}, {"seconds", static_cast<double>(all.count()) / 1000}}.dump(2));
  } else {
    fmt::print("{} tests, about {} of traffic over ports {}{}; nothing was sent\n", cases.size(), lasting(all),
               session.base.ports.front().name,
               session.base.ports.size() > 1 ? " to " + session.base.ports.back().name : "");
  }
  return 0;
}

/// Before anything is sent to a device that may be somebody's network.
void require_consent(const BmwgRequest& request, const RunConfig& base) {
  std::vector<std::string> foreign;
  for (const PortConfig& port : base.ports)
    if (!port.embedded())
      foreign.push_back(fmt::format("{} ({})", port.name, port.is_rdma_device() ? port.verbs : port.device));
  if (request.twin || request.yes || foreign.empty()) return;
  const std::string what = fmt::format(
      "these benchmarks send at line rate, provoke loss and pauses, and may bring a network down that others use; they "
      "send on {}",
      fmt::join(foreign, ", "));
  if (isatty(STDIN_FILENO) == 0) fail_input("{}; --yes says that this is wanted", what);
  fmt::print(stderr, "{}.\nGo on? [y/N] ", what);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "yes") fail_input("not started");
}

std::map<std::string, std::string> properties_of(const BmwgRequest& request, const BmwgSession& session) {
  std::map<std::string, std::string> properties;
  for (const auto& [group, texts] :
       {std::pair("dut", &session.suite.dut), {"topology", &session.suite.topology}, {"host", &session.suite.host}})
    for (const auto& [key, value] : *texts) properties[fmt::format("{}.{}", group, key)] = value;
  std::vector<std::string> ports;
  for (const PortConfig& port : session.base.ports)
    ports.push_back(fmt::format("{} ({}, {:g} Gbit/s)", port.name, port.is_rdma_device() ? port.verbs : port.device,
                                static_cast<double>(port.rate.bits_per_second) / 1e9));
  properties["topology.ports"] = fmt::format("{}", fmt::join(ports, ", "));
  properties["test.configuration"] = session.suite.base.string();
  properties["test.settings"] = fmt::format("{}", fmt::join(session.suite.settings, " "));
  properties["test.emulated by"] = request.twin ? "the packet-level twin, in virtual time" : "rankwire, in real time";
  properties["test.scale"] =
      request.quick ? "quick: sizes, durations and repetitions are not the draft's" : "as in the draft";
  return properties;
}

int run_tests(const BmwgRequest& request) {
  const BmwgSession session(request, read_bmwg_suite(request.suite));
  const std::vector<TestCase> cases = cases_of(session, request);
  require_consent(request, session.base);
  // A suite that is resumed goes on in the folder that it has.
  const std::filesystem::path standard = std::filesystem::path("runs") / session.suite.name;
  std::filesystem::path out = request.out.empty() ? standard : request.out;
  std::filesystem::create_directories(out);
  if (std::filesystem::exists(out / "suite.json") && !request.resume)
    fail_input("{}: holds a suite; --resume goes on with it, and another --out begins anew", out.string());
  SuiteOptions options{.name = "bmwg",
                       .version = RANKWIRE_VERSION,
                       .properties = properties_of(request, session),
                       .folder = out,
                       .resume = request.resume};
  const bool shows = !request.json && log_verbosity() == Verbosity::kNormal;
  options.begins = [&](const TestCase& test, size_t index, size_t count) {
    if (!shows || isatty(STDOUT_FILENO) == 0) return;
    fmt::print("{} of {}  {}  {} ...\r", index + 1, count, test.id, test.title);
    std::fflush(stdout);
  };
  options.ends = [&](const CaseResult& result) {
    if (!shows) return;
    fmt::print("{:<13} {:<18} {} ({}){}\n", name_of(result.outcome.verdict), result.id, result.title,
               lasting(result.took), result.outcome.reason.empty() ? "" : ": " + result.outcome.reason);
    std::fflush(stdout);
  };
  const SuiteResult suite = run_suite(cases, options, interrupt_flag());
  write_suite_reports(suite, out, {.title = "IETF BMWG benchmarks of AI fabrics: " + session.suite.name});
  if (request.json) {
    std::ifstream in(out / "suite.json");
    std::cout << in.rdbuf();
  } else if (shows) {
    fmt::print("{} pass, {} fail, {} inconclusive, {} skipped, {} error{}; {}\n", suite.count(CaseVerdict::kPass),
               suite.count(CaseVerdict::kFail), suite.count(CaseVerdict::kInconclusive),
               suite.count(CaseVerdict::kSkipped), suite.count(CaseVerdict::kError),
               suite.interrupted ? ", interrupted: --resume goes on" : "", (out / "suite.html").string());
  }
  return exit_status(suite);
}

}  // namespace

void add_bmwg_verb(CLI::App& app, BmwgRequest& request, bool& quiet, int& status) {
  CLI::App& verb =
      *app.add_subcommand("bmwg", "benchmarks of the IETF's drafts on AI fabrics: list, plan and run them");
  verb.require_subcommand(1);
  verb.footer("Example: rankwire bmwg run configs/bmwg/quick.yaml --quick");
  CLI::App& list = *verb.add_subcommand("list", "the tests, and what they need");
  list.add_flag("--json", request.json, "print JSON");
  list.footer("Example: rankwire bmwg list --json");
  list.callback([&] { status = list_tests(request); });

  const auto add_common = [&](CLI::App& common) {
    common.add_option("SUITE", request.suite, "suite (docs/bmwg.md)")->required();
    common.add_option("--only", request.only, "pattern of tests' ids, such as 'T1.*'; repeatable")
        ->allow_extra_args(false);
    common.add_flag("--quick", request.quick, "sizes, durations and repetitions for minutes instead of days");
    common.add_flag("--json", request.json, "print JSON");
  };
  CLI::App& plan = *verb.add_subcommand("plan", "what would be run, and how long it takes; nothing is sent");
  add_common(plan);
  plan.footer("Example: rankwire bmwg plan configs/bmwg/quick.yaml --only 'T5.*'");
  plan.callback([&] { status = plan_tests(request); });

  CLI::App& run = *verb.add_subcommand("run", "run the tests and write the report");
  add_common(run);
  run.add_option("--out", request.out, "folder; default runs/NAME");
  run.add_flag("--resume", request.resume, "go on with what the folder holds of an earlier attempt");
  run.add_flag("--yes", request.yes, "do not ask before sending on ports that are not embedded");
  run.add_flag("--twin", request.twin, "packet by packet in virtual time instead; no device is touched");
  run.add_flag("--quiet", quiet, "print errors only");
  run.footer("Example: rankwire bmwg run configs/bmwg/quick.yaml --quick --only 'T1.*' --out runs/t1");
  run.callback([&] { status = run_tests(request); });
}

}  // namespace rankwire
