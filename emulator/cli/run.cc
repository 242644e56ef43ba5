// `run` and `simulate`: emulated, twin and reference runs into one record, and the report of it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/log.h"
#include "dataplane/verbs/transport.h"
#include "emulator/assembly/alpha_beta.h"
#include "emulator/assembly/execute.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/assembly/verbs_options.h"
#include "emulator/assembly/verbs_ports.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/progress.h"
#include "emulator/engine/port_transports.h"
#include "emulator/engine/split_transport.h"
#include "emulator/record/reader.h"
#include "emulator/report/report.h"
#include "emulator/report/summary.h"
#include "emulator/simulator/network_model.h"
#include "emulator/workload/node_stream.h"

namespace rankwire {
namespace {

/// A validated request with its open record.
struct Session {
  std::optional<RunFolder> folder;
  Setup setup;
  std::optional<RunRecorder> recorder;
};

MessageDetail message_detail(MessageRecording recording) {
  switch (recording) {
    case MessageRecording::kNone:
      return MessageDetail::kNone;
    case MessageRecording::kSampled:
      return MessageDetail::kSampled;
    case MessageRecording::kAll:
      return MessageDetail::kAll;
  }
  return MessageDetail::kSampled;
}

/// Signals end a run, and a terminal shows how far it is.
RunControl control() {
  return {interrupt_flag(), [](std::string label, uint64_t operations, std::function<uint64_t()> done) {
            return std::make_shared<Progress>(std::move(label), operations, std::move(done));
          }};
}

/// Those from `first` on.
void tell_warnings(Session& session, size_t first) {
  const Warnings& warnings = session.setup.warnings;
  for (size_t i = first; i < warnings.size(); ++i) {
    log_warning(warnings[i]);
    session.recorder->warning(warnings[i]);
  }
}

void require_ports(const RunConfig& config, const char* what) {
  if (config.ports.empty())
    fail_input("{}: {} needs 'ports'; `rankwire simulate` runs the model alone", config.file, what);
}

/// What the file leaves to the devices is asked of them, since plan and reference follow from it.
RunConfig emulation_config(const RunRequest& request) {
  RunConfig config = load_config(request.config, request.settings);
  require_ports(config, "an emulated run");
  if (!config.transport.mtu && std::ranges::any_of(config.ports, &PortConfig::is_rdma_device))
    config.transport.mtu = largest_path_mtu(find_verbs_ports(config, verbs_devices()));
  return config;
}

/// Some at a time, since there may be more of them than memory.
void record_nodes(const Workload& workload, RunRecorder& recorder) {
  constexpr size_t kAtOnce = 16384;
  std::vector<NodeInfo> rows;
  for_each_node(workload, [&](RankId rank, uint32_t place, const Node& node) {
    rows.push_back(node_info(workload, rank, place, node));
    if (rows.size() < kAtOnce) return;
    recorder.nodes(rows);
    rows.clear();
  });
  recorder.nodes(rows);
}

void open_session(Session& session, const RunRequest& request, const RunConfig& config) {
  const std::filesystem::path& folder =
      session.folder.emplace(request.out.empty() ? std::filesystem::path("runs") / config.name : request.out).path();
  prepare(session.setup, config, folder);

  // What an earlier run left would not be this run's.
  for (const char* file : {"summary.json", "operations.csv", "flows.csv", "ranks.csv", "ports.csv", "latency.csv",
                           "hardware.csv", "impairments.csv", "queues.csv", "timeline.json", "report.html", "report.md",
                           "capture.pcapng", "capture-twin.pcapng"}) {
    std::filesystem::remove(folder / file);
  }
  session.recorder.emplace(
      folder, RecorderOptions{.messages = message_detail(config.messages), .causes = config.record_causes});
  session.recorder->configuration(resolved_json(session.setup.config), RANKWIRE_VERSION, config.dut);
  record_nodes(session.setup.workload, *session.recorder);
  tell_warnings(session, 0);
}

std::unique_ptr<Transport> with_local(const Setup& setup, std::unique_ptr<Transport> wire) {
  return std::make_unique<SplitTransport>(std::move(wire), std::make_unique<NetworkModel>(reference_network(setup)));
}

/// RoCEv2 on real ports. `verbs` is made where RDMA devices are among them, and outlives the transport, as
/// `impairments` do, which a run with RDMA devices does not have.
std::unique_ptr<Transport> wire_transport(const Setup& setup, Testbed& testbed, std::unique_ptr<VerbsApi>& verbs,
                                          Impairments* impairments) {
  RoceOptions options = roce_options(setup);
  options.standstill = Duration(first_timeout(reliable_options(options.profile, options.mtu)).ps / 2);
  const std::span<const VerbsPort> rdma = testbed.verbs_ports();
  if (rdma.empty()) return make_roce_transport(options, testbed, impairments);
  verbs = make_verbs_api();
  VerbsOptions told = verbs_options(setup);
  told.interrupted = &interrupt_flag();
  auto devices = std::make_unique<VerbsTransport>(told, *verbs, std::vector<VerbsPort>(rdma.begin(), rdma.end()));
  const std::vector<PortBinding> frames = testbed.ports();
  if (frames.empty()) return devices;
  std::vector<PortTransports::Part> parts(2);
  for (const PortBinding& binding : frames) parts[0].ports.push_back(binding.id);
  for (const VerbsPort& port : rdma) parts[1].ports.push_back(port.id);
  parts[0].transport = std::make_unique<RoceTransport>(options, frames);
  parts[1].transport = std::move(devices);
  parts[1].connect = ConnectTime::kLong;
  return std::make_unique<PortTransports>(std::move(parts));
}

void complete_capture(Session& session, Testbed& testbed, const char* file) {
  if (const uint64_t left_out = testbed.complete_capture(); left_out > 0) {
    session.recorder->warning(
        fmt::format("{} lacks the last {} frames, for which record.capture was too small", file, left_out));
  }
}

RunResult emulate(Session& session) {
  RealClock clock;
  const size_t warnings = session.setup.warnings.size();
  const std::unique_ptr<Testbed> testbed = make_testbed(session.setup);
  testbed->capture_to(session.folder->path() / "capture.pcapng");
  tell_warnings(session, warnings);
  std::unique_ptr<VerbsApi> verbs;
  if (!testbed->verbs_ports().empty()) session.setup.plan.transport.message_bytes = message_bytes(session.setup.plan);
  const std::unique_ptr<Impairments> impairments = make_impairments(session.setup);
  const std::unique_ptr<Transport> transport =
      with_local(session.setup, wire_transport(session.setup, *testbed, verbs, impairments.get()));
  const RunResult result =
      execute(session.setup, {Fidelity::kEmulated, "real", clock, *transport, testbed.get(), impairments.get()},
              *session.recorder, control());
  complete_capture(session, *testbed, "capture.pcapng");
  return result;
}

/// `model` is its name among those of `simulation.fidelity`, empty where it stands for an emulated run.
RunResult run_twin(Session& session, const char* model, const char* capture) {
  VirtualClock clock;
  const std::unique_ptr<Testbed> testbed = make_memory_testbed(session.setup);
  testbed->capture_to(session.folder->path() / capture);
  const std::unique_ptr<Impairments> impairments = make_impairments(session.setup);
  const std::unique_ptr<Transport> transport =
      with_local(session.setup, make_roce_transport(roce_options(session.setup), *testbed, impairments.get()));
  const RunResult result = execute(session.setup,
                                   {.fidelity = Fidelity::kTwin,
                                    .clock_name = "virtual",
                                    .clock = clock,
                                    .transport = *transport,
                                    .testbed = testbed.get(),
                                    .impairments = impairments.get(),
                                    .model = model},
                                   *session.recorder, control());
  complete_capture(session, *testbed, capture);
  return result;
}

RunResult run_flow(Session& session) {
  VirtualClock clock;
  const Setup& setup = session.setup;
  const Network network = reference_network(setup);
  std::optional<Quotient> folded;
  // Classes of what cannot be told apart know nothing of ways that change.
  if (setup.config.messages == MessageRecording::kNone && setup.variation == nullptr && network.reroutes.empty())
    folded = quotient(setup.workload, setup.plan, network);
  NetworkModel model(network);
  return execute(setup,
                 {.fidelity = Fidelity::kReference,
                  .clock_name = "virtual",
                  .clock = clock,
                  .transport = model,
                  .testbed = nullptr,
                  .quotient = folded ? &*folded : nullptr,
                  .model = "flow"},
                 *session.recorder, control());
}

/// Beside an emulated run, the twin's capture has a file of its own.
RunResult run_model(Session& session, SimulationFidelity model, bool emulated) {
  const Setup& setup = session.setup;
  switch (model) {
    case SimulationFidelity::kFlow:
      return run_flow(session);
    case SimulationFidelity::kAlphaBeta:
      return execute_timed(setup, alpha_beta_times(setup, reference_network(setup)), "alpha_beta", *session.recorder,
                           control());
    case SimulationFidelity::kRecorded:
      return execute_timed(setup, recorded_times(setup.workload), "recorded", *session.recorder, control());
    case SimulationFidelity::kAstra:
      return execute_astra(setup, *session.recorder, control());
    case SimulationFidelity::kTwin:
      return run_twin(session, "twin", emulated ? "capture-twin.pcapng" : "capture.pcapng");
  }
  fail_run("unknown model");
}

/// All models, one after the other, beside an emulated run or without one; whether all were ok.
bool run_models(Session& session, bool emulated) {
  bool ok = true;
  for (const SimulationFidelity model : session.setup.config.simulation.fidelity) {
    ok = run_model(session, model, emulated).verdict == Verdict::kOk && ok;
  }
  return ok;
}

/// Closes the record, draws it, prints the summary, and turns the verdict into an exit status.
int finish(Session& session, const RunRequest& request, bool ok) {
  session.recorder.reset();
  const OperationStatistics operations = write_report(session.folder->path());
  const RunReader reader(session.folder->path());
  const nlohmann::ordered_json summary = rankwire::summary(reader, operations);
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", summary.dump(2));
  } else if (log_verbosity() == Verbosity::kNormal) {
    fmt::print("{}", summary_table(reader, operations));
  }
  std::fflush(stdout);
  if (request.strict && summary.at("fidelity") != "ok") ok = false;
  return ok ? 0 : 1;
}

}  // namespace

int run_emulation(const RunRequest& request) {
  Session session;
  open_session(session, request, emulation_config(request));
  const bool emulated_ok = emulate(session).verdict == Verdict::kOk;
  return finish(session, request, run_models(session, true) && emulated_ok);
}

int run_simulation(const RunRequest& request, bool twin) {
  return run_simulation(request, load_config(request.config, request.settings), twin);
}

int run_simulation(const RunRequest& request, const RunConfig& config, bool twin) {
  if (twin) require_ports(config, "the twin");
  Session session;
  open_session(session, request, config);
  const bool first = twin && !config.simulation.has(SimulationFidelity::kTwin);
  const bool twin_ok = !first || run_twin(session, "", "capture.pcapng").verdict == Verdict::kOk;
  return finish(session, request, run_models(session, false) && twin_ok);
}

int draw_report(const std::filesystem::path& folder, const std::string& formats) {
  write_report(folder, formats.empty() ? standard_formats() : parse_formats(formats));
  return 0;
}

}  // namespace rankwire
