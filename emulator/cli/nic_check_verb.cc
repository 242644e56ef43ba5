#include "emulator/cli/nic_check_verb.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/port.h"
#include "dataplane/dpdk/presence.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/nic_replay.h"
#include "emulator/input/units.h"
#include "emulator/nic_check/agent.h"
#include "emulator/nic_check/agent_token.h"
#include "emulator/nic_check/catalogue.h"
#include "emulator/nic_check/config.h"
#include "emulator/nic_check/emulated_bench.h"
#include "emulator/nic_check/line_socket.h"
#include "emulator/nic_check/open_nic.h"
#include "emulator/nic_check/perftest_bench.h"
#include "emulator/nic_check/replay.h"
#include "emulator/suite/suite.h"

namespace rankwire {
namespace {

constexpr uint32_t kMostHeaderBytes = 84;  // IPv6 40, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4

constexpr Bytes kDpdkMemory = Bytes(128 << 20);

void list_cases(const std::vector<TestCase>& cases, bool json) {
  if (!json) {
    for (const TestCase& test : cases) fmt::print("{:<40} {} [{}]\n", test.id, test.title, test.source);
    return;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TestCase& test : cases)
    list.push_back({{"id", test.id},
                    {"title", test.title},
                    {"stimulus", test.stimulus},
                    {"expectation", test.expectation},
                    {"source", test.source}});
  fmt::print("{}\n", list.dump(2));
}

/// A size of 1 MiB .. 2 GiB, in whole packets. Throws Error(kInput).
uint32_t largest_message(const std::string& text) {
  constexpr int64_t kPacket = 4096;
  int64_t bytes = 0;
  try {
    bytes = parse_quantity(text, kSizeScale);
  } catch (const ValueError& error) {
    fail_input("--largest: {}", error.what());
  }
  if (bytes < NicBench::kSpace || bytes > BenchScale::kMostBytes)
    fail_input("--largest: '{}' is not 1MiB .. 2GiB", text);
  return static_cast<uint32_t>(bytes / kPacket * kPacket);
}

BenchScale scale_of(const NicCheckRequest& request) {
  if (request.is_long) return {.largest = BenchScale::kMostBytes, .queue_pairs = BenchScale::kMostQueuePairs};
  return {.largest = largest_message(request.largest), .queue_pairs = request.queue_pairs};
}

/// A bench with whatever stands behind it.
struct OpenBench {
  std::string nic;
  std::string absent;  ///< why its agent cannot be asked: nothing else is open then; empty: it can
  std::map<std::string, std::string> properties;
  std::unique_ptr<EmulatedBench> emulated;
  RealClock clock;
  std::unique_ptr<DpdkEnvironment> environment;
  std::unique_ptr<FramePort> port;
  std::unique_ptr<NicUnderTest> driven;
  std::unique_ptr<NicBench> real;
  std::unique_ptr<PerftestBench> perftest;  ///< instead of both

  NicBench* bench() const { return emulated ? &emulated->bench() : real.get(); }
};

/// What is tested: the catalogue, or a recorded run.
std::vector<TestCase> catalogue_of(const NicCheckRequest& request, const OpenBench& open) {
  if (open.perftest) return perftest_catalogue(open.perftest.get());
  if (request.replay.empty()) return nic_catalogue(open.bench());
  return nic_tests(replay_cases(read_replayed_job(request.replay, request.rank, scale_of(request).largest)),
                   open.bench());
}

std::vector<TestCase> wanted_cases(const NicCheckRequest& request, const OpenBench& open) {
  std::vector<TestCase> cases = catalogue_of(request, open);
  if (open.absent.empty()) return cases;
  for (TestCase& test : cases) test.run = [why = open.absent](const CaseContext&) { return CaseOutcome::error(why); };
  return cases;
}

std::unique_ptr<OpenBench> open_emulated(const NicCheckRequest& request) {
  if (!request.config.empty()) fail_input("--emulated takes no configuration");
  auto open = std::make_unique<OpenBench>();
  const NicMutant mutant = request.mutant.empty() ? NicMutant::kNone : find_nic_mutant(request.mutant);
  open->emulated = std::make_unique<EmulatedBench>(mutant, IpVersion::kIpv4, scale_of(request));
  open->nic = open->emulated->bench().nic().facts().name;
  open->properties = {{"dut.model", "emulated NIC"}};
  if (!request.mutant.empty()) open->properties["dut.planted fault"] = request.mutant;
  return open;
}

/// `model`: empty where it could not be asked for.
std::map<std::string, std::string> properties_of(const NicCheckConfig& config, const std::string& model) {
  std::map<std::string, std::string> properties = {
      {"dut.address", fmt::format("{} ({})", to_string(config.nic_ip), to_string(config.nic_mac))},
      {"topology.port", config.device},
      {"topology.peer", fmt::format("{} ({})", to_string(config.peer.ip), to_string(config.peer.mac))}};
  if (!model.empty()) properties["dut.model"] = model;
  return properties;
}

std::unique_ptr<OpenBench> open_configured(const NicCheckRequest& request) {
  if (request.config.empty()) fail_input("nic-check needs a configuration (docs/nic-check.md), or --emulated");
  if (!request.mutant.empty()) fail_input("--mutant is of --emulated");
  const NicCheckConfig config = read_nic_check_config(request.config);
  // Before anybody is asked for anything.
  if (!request.run.only.empty())
    select_cases(config.perftest ? perftest_catalogue(nullptr) : catalogue_of(request, OpenBench()), request.run.only);
  // Wrong frames, pauses and floods are not what a port in use is sent unasked.
  if (!config.device.starts_with("net_ring"))
    require_consent(request.run, fmt::format("frames with errors, pauses and bursts are sent on {} to {}",
                                             config.device, to_string(config.nic_ip)));
  auto open = std::make_unique<OpenBench>();
  const BenchScale scale = scale_of(request);
  if (config.perftest && !request.replay.empty())
    fail_input("--replay: needs a NIC that is driven by nic.verbs or nic.agent, not by nic.perftest");
  try {
    if (!config.perftest) open->driven = open_nic(config, scale.largest);
  } catch (const Error& error) {
    // What is found of a configuration is the user's. What a suite that is resumed has found stays as it was.
    if (config.agent.empty() || error.kind() == ErrorKind::kInput || request.run.resume) throw;
    log_error(error.what());
    open->nic = config.agent;
    open->absent = error.what();
    open->properties = properties_of(config, "");
    return open;
  }
  open->environment = std::make_unique<DpdkEnvironment>(DpdkOptions{.memory = kDpdkMemory, .devices = {config.device}});
  open->port = open_dpdk_port(*open->environment, config.device, {.mtu = config.mtu + kMostHeaderBytes});
  const DevicePresence presence(config.device);
  open->clock.start();
  if (config.perftest) {
    open->nic = config.perftest->device;
    open->perftest = std::make_unique<PerftestBench>(config, *open->port, open->clock, [](const std::string& command) {
      fmt::print(stderr, "on the NIC's host: {}\n", command);
    });
    open->perftest->watch([presence] { return presence.absence(); });
  } else {
    open->nic = open->driven->facts().name;
    open->real = std::make_unique<NicBench>(
        *open->driven, *open->port, open->clock,
        BenchOptions{
            .peer = config.peer, .line = config.rate, .limits = config.limits, .mtu = config.mtu, .scale = scale});
    open->real->watch([presence, nic = open->driven.get()] {
      const std::string absence = presence.absence();
      return absence.empty() ? nic->vanished() : absence;
    });
  }
  open->properties = properties_of(config, open->nic);
  return open;
}

}  // namespace

int check_nic(const NicCheckRequest& request) {
  if (request.list) {
    if (!request.mutant.empty()) fail_input("--mutant: plants a fault in what is tested, and --list tests nothing");
    std::vector<TestCase> cases =
        request.replay.empty() ? perftest_catalogue(nullptr) : wanted_cases(request, OpenBench());
    list_cases(select_cases(std::move(cases), request.run.only), request.run.json);
    return 0;
  }
  interrupt_flag();  // so that a signal while the bench takes its memory is none of the default's
  const std::unique_ptr<OpenBench> open = request.emulated ? open_emulated(request) : open_configured(request);
  std::vector<TestCase> all = wanted_cases(request, *open);
  std::vector<std::string> catalogue;
  for (const TestCase& test : all) catalogue.push_back(test.id);
  const std::vector<TestCase> cases = select_cases(std::move(all), request.run.only);
  if (!request.replay.empty())
    open->properties["test.recorded run"] = fmt::format("{}, rank {}", request.replay, request.rank);
  return run_suite_cases(cases,
                         {.name = "nic-check",
                          .title = "NIC check: " + open->nic,
                          .standard = "runs/nic-check",
                          .properties = open->properties,
                          .catalogue = std::move(catalogue)},
                         request.run);
}

int serve_nic(const AgentRequest& request) {
  const std::string token = agent_token(request.token, request.token_file);
  if (token.empty())
    fail_input("the agent needs a token that nic-check knows: --token-file FILE, or {} in the environment",
               kAgentTokenVariable);
  if (const std::string wrong = wrong_address(request.listen); !wrong.empty()) fail_input("--listen: {}", wrong);
  IpAddress ip;
  if (!request.ip.empty()) {
    const std::optional<IpAddress> parsed = parse_ip(request.ip);
    if (!parsed) fail_input("--ip: '{}' is no address", request.ip);
    ip = *parsed;
  }
  const std::unique_ptr<NicUnderTest> nic =
      open_verbs_nic(request.device, ip, request.gid_index, {}, largest_message(request.largest));
  LineListener listener(request.listen);
  fmt::print(stderr, "{} at {} ({}) is served at port {}\n", nic->facts().name, to_string(nic->facts().ip),
             to_string(nic->facts().mac), listener.port());
  serve_agent(*nic, listener, token, interrupt_flag());
  return 0;
}

void add_agent_verb(CLI::App& app, AgentRequest& request, int& status) {
  CLI::App& verb = *app.add_subcommand("agent", "lets nic-check on another host drive an RDMA device of this one");
  verb.add_option("--listen", request.listen, "ADDRESS:PORT of this host")->capture_default_str();
  CLI::Option* const file = verb.add_option("--token-file", request.token_file,
                                            "FILE whose first line nic-check must know (its nic.token_file)");
  verb.add_option("--token", request.token, "the token itself, which every user of this host can see: rather a file")
      ->excludes(file);
  verb.add_option("--device", request.device, "RDMA device, such as mlx5_0")->required();
  verb.add_option("--ip", request.ip, "of its GID; default: the first that can be used");
  verb.add_option("--gid-index", request.gid_index, "the GID itself")->check(CLI::Range(0, 255));
  verb.add_option("--largest", request.largest, "SIZE of the messages that its memory has room for, up to 2GiB")
      ->capture_default_str();
  verb.footer("Example: rankwire agent --listen 127.0.0.1:7791 --token-file agent.token --device mlx5_0");
  verb.callback([&request, &status] { status = serve_nic(request); });
}

void add_nic_check_verb(CLI::App& app, NicCheckRequest& request, bool& quiet, int& status) {
  CLI::App& verb = *app.add_subcommand("nic-check", "a RoCEv2 NIC tested through its own wire, case by case");
  verb.add_option("CONFIG", request.config, "the wire and the NIC (docs/nic-check.md)");
  verb.add_flag("--list", request.list, "print the cases with their sources");
  add_selection_options(verb, request.run);
  verb.add_flag("--emulated", request.emulated, "test an emulated NIC in virtual time; no device is touched");
  verb.add_option("--mutant", request.mutant, "with --emulated: plant this fault");
  verb.add_option("--largest", request.largest, "SIZE up to which messages are tried, 1MiB .. 2GiB")
      ->capture_default_str();
  verb.add_option("--queue-pairs", request.queue_pairs, "up to how many the NIC uses at a time, 1 .. 100000")
      ->capture_default_str()
      ->check(CLI::Range(1u, BenchScale::kMostQueuePairs));
  verb.add_flag("--long", request.is_long, "the most of both, which takes minutes")
      ->excludes("--largest", "--queue-pairs");
  CLI::Option* const replay = verb.add_option(
      "--replay", request.replay,
      "RUN whose messages, recorded one by one, and impairments are what the NIC is tested with, instead of the cases");
  verb.add_option("--rank", request.rank, "with --replay: whose messages the NIC sends and receives")
      ->capture_default_str()
      ->needs(replay);
  add_suite_options(verb, request.run, "runs/nic-check");
  verb.add_flag("--quiet", quiet, "print errors only");
  verb.footer(
      "Example: rankwire nic-check --emulated --only 'requester.loss.*'\n"
      "     or: rankwire nic-check nic.yaml --yes --replay runs/quickstart --rank 1\n"
      "     or: rankwire nic-check nic.yaml --yes --out runs/mlx5_0");
  verb.callback([&request, &status] { status = check_nic(request); });
}

}  // namespace rankwire
