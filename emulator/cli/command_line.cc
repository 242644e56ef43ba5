#include "emulator/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "emulator/assembly/generate.h"
#include "emulator/cli/astra_verb.h"
#include "emulator/cli/bmwg_verb.h"
#include "emulator/cli/collective_verb.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/completion.h"
#include "emulator/cli/convert.h"
#include "emulator/cli/interference_verb.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/joined_arguments.h"
#include "emulator/cli/nic_check_verb.h"
#include "emulator/cli/out_of_memory.h"
#include "emulator/cli/peer.h"
#include "emulator/cli/point_part.h"
#include "emulator/cli/serve_verb.h"
#include "emulator/cli/suite_verb.h"
#include "emulator/cli/trace_verbs.h"
#include "emulator/cli/usage_error.h"
#include "emulator/cli/verb_names.h"
#include "emulator/cli/view_verb.h"

namespace rankwire {
namespace {

constexpr int kUsage = 2;
const uint32_t kCores = std::max(1u, std::thread::hardware_concurrency());

/// Neither what is no number nor what nothing can be above.
const CLI::Validator kPositiveRatio(
    [](std::string& text) {
      double number = 0;
      const bool is_one = CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number > 0;
      return is_one ? std::string() : fmt::format("'{}' is no number above 0, such as 1.05", text);
    },
    "NUMBER > 0");

/// One verb of the command line. CLI11 keeps references to the fields until the verb has run.
struct CommandLine {
  CLI::App app{"rankwire: the network traffic of AI jobs on real wires, beside a reference model."};
  RunRequest request;
  PeerRequest peer;
  TraceVerbs trace_verbs;
  ConvertRequest conversion;
  AstraRequest astra;
  BmwgRequest bmwg;
  CollectiveRequest collective;
  StudyRequest study{.jobs = kCores};
  InterferenceRequest interference;
  CompareRequest comparison;
  ViewRequest view;
  ServeOptions server;
  SuiteRequest suite;
  NicCheckRequest nic_check;
  AgentRequest agent;
  bool quiet = false, twin = false;
  ReportRequest drawing;
  GenerateRequest generation;
  std::string base, page, shell;
  std::vector<std::string> sweep;
  std::string columns;
  PointPart part;
  uint32_t jobs = kCores;
  int status = 0;

  void add_json_flag(CLI::App& verb, const char* what) {
    verb.add_flag_callback(
        "--json", [this] { request.form = OutputForm::kJson; }, what);
  }

  void add_run_options(CLI::App& verb) {
    verb.add_option("CONFIG", request.config, "configuration (docs/configuration.md)")->required();
    verb.add_option("--out", request.out, "run folder; default runs/NAME, or NAME-2 and so on where that holds a run");
    verb.add_flag("--force", request.overwrite, "overwrite the run that the folder holds");
    verb.add_option("--set", request.settings, "key=value, overrides a key of the configuration; repeatable")
        ->allow_extra_args(false);
    add_json_flag(verb, "print the summary as JSON");
    verb.add_flag("--quiet", quiet, "print errors and verdicts other than ok only");
  }

  static CLI::Option* add_columns_option(CLI::App& verb, std::string& columns) {
    return verb.add_option("--columns", columns,
                           "A,B,...: further columns of the tables, paths into summary.json such as "
                           "transport.timeouts, or marks, cnps, p50, p99, drops, retransmitted, pauses, fidelity");
  }

  static CLI::Option* add_part_option(CLI::App& verb, PointPart& part) {
    return verb.add_option_function<std::string>(
        "--part", [&part](const std::string& text) { part = parse_point_part(text); },
        "NUMBER/OF, such as 3/8: run every 8th point from the 3rd, beside other processes with the same --out, here or "
        "elsewhere; 'auto': as the task of a Slurm array, or of srun or mpirun");
  }

  CLI::Option* add_sweep_option(CLI::App& verb, const char* what) {
    CLI::Option* const option =
        verb.add_option("--sweep", sweep,
                        fmt::format("KEY=V1,V2,...: {} with each value, and with several --sweep each combination; "
                                    "KEY+KEY=V+W,... changes keys together",
                                    what))
            ->allow_extra_args(false);
    add_columns_option(verb, columns)->needs(option);
    return option;
  }

  void add_peer() {
    CLI::App& verb = *app.add_subcommand("peer", "an emulated NIC that answers the perftest of another");
    verb.add_flag("--perftest")->required()->description("answer ib_write_bw, ib_send_bw, ib_read_bw, ib_write_lat");
    verb.add_option("--device", peer.device, "DPDK device: PCI address or vdev string")->required();
    verb.add_option("--ip", peer.ip, "address of the emulated NIC with its prefix, IPv4 or IPv6")->required();
    verb.add_option("--mac", peer.mac, "default: 02:00 and the end of the address");
    verb.add_option("--vlan", peer.vlan, "802.1Q VLAN of its frames")->check(CLI::Range(1, 4094));
    verb.add_option("--gateway", peer.gateway, "next hop to other subnets");
    verb.add_option("--rate", peer.rate, "line rate")->capture_default_str();
    verb.add_option("--mtu", peer.mtu, "largest path MTU, 256B to 4096B")->capture_default_str();
    verb.add_option("--profile", peer.profile, "whose behaviour: rankwire, mlx5, rxe")->capture_default_str();
    verb.add_option("--queue-pairs", peer.queue_pairs, "most of one client")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    verb.add_option("--listen", peer.listen, "ADDRESS:PORT of this host for the clients' TCP")->capture_default_str();
    verb.add_option("--count", peer.clients, "end after so many clients; default: when interrupted");
    verb.add_option("--deadline", peer.deadline, "end after this time, such as 600s");
    verb.add_option("--patience", peer.patience, "drop a client that is silent for so long")->capture_default_str();
    verb.add_option("--loss", peer.loss, "of the frames each way, taken as lost, such as 0.1%")->capture_default_str();
    verb.add_option("--message", peer.message, "ib_write_lat: its option -s")->capture_default_str();
    verb.add_option("--iterations", peer.iterations, "ib_write_lat: its option -n, with --all")
        ->check(CLI::Range(1u, UINT32_MAX));
    verb.add_flag("--all", peer.all_sizes, "ib_write_lat: its option -a");
    verb.add_flag("--bandwidth-only", peer.bandwidth_only, "never begin a latency test");
    verb.add_flag_callback(
        "--json", [this] { peer.form = OutputForm::kJson; }, "print JSON at the end");
    add_gate_options(verb, peer.gating);
    verb.footer(
        "Example: rankwire peer --perftest --device 0000:3b:00.0 --ip 10.5.0.9/24 --count 1\n"
        "     and on the other host: ib_write_bw -d mlx5_0 -x 3 THIS_HOST");
    verb.callback([this] { status = answer_perftest(peer); });
  }

  void add_study() {
    CLI::App& verb = *app.add_subcommand("study", "many simulations from one file, drawn as figures");
    verb.add_option("STUDY", study.file, "figures and their simulations (docs/studies.md)")->required();
    verb.add_option("--out", study.out, "folder of the figures and run folders; default runs/NAME, numbered if taken");
    verb.add_flag("--force", study.overwrite, "overwrite what the folder holds of an earlier study");
    verb.add_option("--figure", study.figures, "draw the figure of this name; repeatable; default: all")
        ->allow_extra_args(false);
    verb.add_option("--group", study.groups, "draw the groups of this label; repeatable; default: all")
        ->allow_extra_args(false);
    verb.add_option("--set", study.settings, "key=value, overrides a key in all simulations; repeatable")
        ->allow_extra_args(false);
    verb.add_flag("--twin", study.twin, "also run packet by packet");
    add_columns_option(verb, study.columns);
    verb.add_option("--jobs", study.jobs, "processes at a time; default: one a core")->check(CLI::Range(1, 1024));
    add_part_option(verb, study.part)->excludes("--force");
    verb.add_flag_callback(
        "--json", [this] { study.form = OutputForm::kJson; }, "print JSON");
    verb.add_flag("--quiet", quiet, "print errors only");
    verb.footer("Example: rankwire study configs/studies/chakra.yaml --out runs/chakra");
    verb.callback([this] { status = run_study(study); });
  }

  void add_compare() {
    CLI::App& verb =
        *app.add_subcommand("compare", "run folders side by side: what was set differently, and what came of it");
    verb.add_option("BASE", comparison.base, "run folder")->required();
    verb.add_option("OTHER", comparison.other,
                    "run folder; or, where BASE measured a collective, output of nccl-tests of a cluster, text or -J's "
                    "JSON")
        ->required();
    verb.add_option("--bases", comparison.bases, "further run folders of BASE's side, whose median is compared");
    verb.add_option("--others", comparison.others, "further run folders of OTHER's side");
    verb.add_option("--most", comparison.most,
                    "exit 1 unless OTHER took at most so many times as long as BASE, 3 when that cannot be told")
        ->check(kPositiveRatio);
    add_gate_options(verb, comparison.gating);
    verb.add_flag("--unlike", comparison.unlike,
                  "compare also runs of different workloads, or a cluster's of another type or reduction");
    verb.add_flag_callback(
        "--json", [this] { comparison.form = OutputForm::kJson; }, "print JSON");
    verb.footer(
        "Example: rankwire compare runs/first runs/second --most 1.05\n"
        "     or: rankwire compare runs/old-1 runs/new-1 --bases runs/old-2 runs/old-3 --others runs/new-2 runs/new-3");
    verb.callback([this] { status = compare_runs(comparison); });
  }

  void add_verbs() {
    app.set_version_flag("--version", RANKWIRE_VERSION);
    app.require_subcommand(1);
    app.footer("Exit status: 0 ok, 1 failed, 2 usage or configuration, 3 nothing failed but something cannot be told.");

    CLI::App& run = *app.add_subcommand("run", "emulate on the configured ports, run the reference, write the report");
    add_run_options(run);
    CLI::Option* const swept = add_sweep_option(run, "run");
    run.add_flag("--strict", request.strict,
                 "exit 1 when the run is degraded, or the generator, not the device, set the pace")
        ->excludes(swept);
    add_gate_options(run, request.gating)->excludes(swept);
    swept->excludes("--junit");
    run.add_flag("--live{127.0.0.1:0}", request.live,
                 "serve a page of the run as it goes on, by default on any free port of this host alone: --live, or "
                 "--live ADDRESS:PORT")
        ->excludes(swept);
    run.add_option("--machine", request.machine,
                   "what this machine is called in ports[].on, for a run over several; default: its host name up to "
                   "the first dot")
        ->excludes(swept);
    run.footer(
        "Example: rankwire run configs/quickstart.yaml --out runs/first --set switch.loss=0.1%\n"
        "     or: rankwire run configs/quickstart.yaml --live 127.0.0.1:8080\n"
        "     or: mpirun --bind-to none -n 2 rankwire run lab.yaml\n"
        "     or: rankwire run configs/quickstart.yaml --sweep transport.window=16,64");
    run.callback([this] {
      status = sweep.empty() ? run_emulation(request) : run_sweep({request, RunKind::kEmulated, sweep, 1, columns});
    });

    CLI::App& simulate = *app.add_subcommand("simulate", "the reference in virtual time; no device is touched");
    add_run_options(simulate);
    CLI::Option* packets = simulate.add_flag("--twin", twin, "also run packet by packet in virtual time");
    CLI::Option* const swept_models = add_sweep_option(simulate, "simulate");
    simulate.add_flag("--strict", request.strict, "with --twin: exit 1 when the run is degraded")
        ->needs(packets)
        ->excludes(swept_models);
    add_gate_options(simulate, request.gating)->excludes(swept_models);
    swept_models->excludes("--junit");
    simulate.add_option("--jobs", jobs, "processes of a sweep at a time; default: one a core")
        ->check(CLI::Range(1, 1024));
    add_part_option(simulate, part)->needs(swept_models)->excludes("--force");
    const char* const together = "share the members of simulation.ensemble with processes that mpirun or srun started";
    simulate.add_flag("--together", request.together, together)->excludes(swept_models);
    simulate.footer(
        "Example: rankwire simulate configs/quickstart.yaml --twin --json\n"
        "     or: rankwire simulate configs/quickstart.yaml --sweep ports.rate=1Gbps,2Gbps --sweep "
        "collectives.chunk=64KiB,1MiB\n"
        "     or: mpirun --bind-to none -n 8 rankwire simulate lab.yaml --set simulation.ensemble=64 --together\n"
        "     or: srun -N 8 rankwire simulate lab.yaml --sweep ports.rate=100Gbps,400Gbps --part auto --out "
        "shared/rates");
    simulate.callback([this] {
      status = sweep.empty() ? run_simulation(request, twin)
                             : run_sweep({request, simulation_kind(twin), sweep, jobs, columns, part});
    });

    add_study();
    add_interference_verb(app, interference, quiet, status);

    CLI::App& check = *app.add_subcommand(
        "check",
        "validate a configuration, print where every rank stands and what memory a run takes, and measure what this "
        "machine can embed of it");
    check.add_option("CONFIG", request.config, "configuration")->required();
    check.add_option("--set", request.settings, "key=value; repeatable")->allow_extra_args(false);
    add_json_flag(check, "print JSON");
    check.add_flag_callback(
        "--no-measure", [this] { request.measure = false; },
        "do not measure what this machine can embed, which takes a second");
    check.add_flag_callback(
        "--no-devices", [this] { request.ask_devices = false; },
        "do not ask the devices of device_counters what they count");
    check.add_flag("--certify", request.certify,
                   "measure the smallest gap that runs resolve: the run's beginning against the embedded switch, which "
                   "takes two seconds");
    check.add_flag_callback(
        "--certify-ports", [this] { request.certify = request.certify_ports = true; },
        "--certify, and open the ports of devices: each sends for a tenth of a second, at its rate, frames that are "
        "addressed to itself");
    check.footer(
        "Example: rankwire check configs/quickstart.yaml\n"
        "     or: rankwire check configs/quickstart.yaml --no-measure --json");
    check.callback([this] { status = check_configuration(request); });

    add_collective_verb(app, collective, quiet, status);
    add_bmwg_verb(app, bmwg, quiet, status);

    CLI::App& devices =
        *app.add_subcommand("devices", "the network devices of this machine and what keeps them from use");
    add_json_flag(devices, "print JSON");
    devices.footer("Example: rankwire devices --json");
    devices.callback([this] { status = list_devices(request.form); });

    add_astra_verb(app, astra, status);
    add_peer();
    add_nic_check_verb(app, nic_check, quiet, status);
    add_agent_verb(app, agent, status);

    CLI::App& report = *app.add_subcommand("report", "draw a run folder again");
    report.add_option("RUN", drawing.folder, "run folder")->required();
    report.add_option("--format", drawing.formats,
                      "some of html,csv,markdown,perfetto; default html,csv,perfetto; or replay: the "
                      "collectives by kernel, size and ranks");
    report.add_option("--base", base, "with --format replay: a run folder or its replay.csv to compare with");
    report.add_option("--repetition", drawing.repetition, "with run.repeat: the repetition that tables show, from 1")
        ->check(CLI::Range(1u, UINT32_MAX));
    add_gate_options(report, drawing.gating);
    report.add_flag_callback(
        "--json", [this] { drawing.form = OutputForm::kJson; }, "print the summary as JSON");
    report.add_option("--page", page, "FILE: write the page there and nothing else, also while the run goes on");
    report.footer("Example: rankwire report runs/first --format html,csv");
    report.callback([this] {
      if (!page.empty()) {
        if (!drawing.formats.empty() || Gating(drawing.gating).is_asked() || drawing.form == OutputForm::kJson)
          fail_input("--page: stands alone, not with --format, --gate, --junit or --json");
        status = draw_page(drawing.folder, drawing.repetition, page);
        return;
      }
      const bool is_replay = drawing.formats == "replay";
      if (!is_replay && !base.empty()) fail_input("--base: is for --format replay");
      if (is_replay && Gating(drawing.gating).is_asked()) fail_input("--gate, --junit: not with --format replay");
      status = is_replay ? draw_replay(drawing.folder, drawing.repetition, base) : draw_report(drawing);
    });

    add_compare();

    add_suite_verb(app, suite, status);
    add_view_verb(app, view, status);
    add_serve_verb(app, server);

    CLI::App& trace = *app.add_subcommand("trace", "make, check and understand traces");
    trace.require_subcommand(1);
    trace.footer("Example: rankwire trace generate configs/transformer.yaml --out traces/gpt");
    CLI::App& generate = *trace.add_subcommand("generate",
                                               "write the Chakra traces of a training step (transformer, MLP, DLRM), "
                                               "of an inference service, of nodes written "
                                               "one by one, or of a small case that is ready");
    generate
        .add_option("SPEC", generation.specification,
                    "model and parallelism (docs/configuration.md, workload.generate), or micro")
        ->required();
    generate.add_option("CASE", generation.micro_case, "with micro: which case");
    generate.add_option("--out", generation.prefix, "prefix of the files: PREFIX.<rank>.et and PREFIX.json");
    generate.add_flag("--force", generation.force,
                      fmt::format("also more than {} million nodes", kMostGeneratedNodes / 1'000'000));
    generate.add_flag("--list", generation.list, "with micro: print the cases, and when each ends");
    generate.add_flag_callback(
        "--json", [this] { generation.form = OutputForm::kJson; }, "with --list: print JSON");
    generate.footer(
        "Example: rankwire trace generate configs/transformer.yaml --out traces/gpt\n"
        "     or: rankwire trace generate micro incast --out traces/incast");
    generate.callback([this] { status = generate_traces(generation); });
    trace_verbs.add(trace, status);

    add_convert_verb(app, conversion, status);
    add_completion_verbs(app, shell);
  }
};

}  // namespace

int rankwire_main(int argc, char** argv) {
  configure_log(Verbosity::kNormal);
  explain_lack_of_memory_at_the_end();
  // A question that comes before there is a run must not end the process.
  inquiries(), hold_flag();
  try {
    CommandLine line;
    line.add_verbs();
    line.app.parse_complete_callback([&line] {
      if (line.quiet) configure_log(Verbosity::kQuiet);
    });
    require_known_verbs(line.app, std::span<const char* const>(argv, static_cast<size_t>(argc)).subspan(argc > 0));
    const JoinedArguments arguments(argc, argv);
    try {
      line.app.parse(argc - arguments.joined(), arguments.data());
    } catch (const CLI::Success& help) {
      return line.app.exit(help);
    } catch (const CLI::ParseError& error) {
      fail_usage(line.app, error);
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      fail_run("cannot write to the standard output: {}", std::strerror(errno));
    return line.status;
  } catch (const Error& error) {
    log_error(error.what());
    return error.kind() == ErrorKind::kInput ? kUsage : 1;
  } catch (const std::bad_alloc&) {
    log_error(kOutOfMemory);
    return 1;
  } catch (const std::length_error&) {  // of what cannot even be asked for
    log_error(kOutOfMemory);
    return 1;
  } catch (const std::exception& error) {
    log_error(error.what());
    return 1;
  }
}

}  // namespace rankwire
