// `run` and `simulate`: emulated, twin and reference runs into one record, and the report of it.
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/log.h"
#include "emulator/cli/commands.h"
#include "emulator/cli/execute.h"
#include "emulator/cli/interrupt.h"
#include "emulator/cli/run_folder.h"
#include "emulator/cli/testbed.h"
#include "emulator/cli/transport_options.h"
#include "emulator/engine/split_transport.h"
#include "emulator/record/reader.h"
#include "emulator/report/report.h"
#include "emulator/report/summary.h"
#include "emulator/simulator/network_model.h"

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

void open_session(Session& session, const RunRequest& request) {
  const RunConfig config = load_config(request.config, request.settings);
  const std::filesystem::path& folder =
      session.folder.emplace(request.out.empty() ? std::filesystem::path("runs") / config.name : request.out).path();
  prepare(session.setup, config, folder);
  for (const std::string& warning : session.setup.warnings) log_warning(warning);

  // What an earlier run left would not be this run's.
  for (const char* file : {"summary.json", "operations.csv", "flows.csv", "ranks.csv", "ports.csv", "latency.csv",
                           "timeline.json", "report.html", "report.md"}) {
    std::filesystem::remove(folder / file);
  }
  session.recorder.emplace(folder, RecorderOptions{.messages = message_detail(config.messages)});
  session.recorder->configuration(resolved_json(session.setup.config), RANKWIRE_VERSION, config.dut);
  session.recorder->nodes(node_table(session.setup.workload));
  for (const std::string& warning : session.setup.warnings) session.recorder->warning(warning);
}

std::unique_ptr<Transport> wire_and_local(const Setup& setup, const RoceOptions& options, Testbed& testbed) {
  return std::make_unique<SplitTransport>(std::make_unique<RoceTransport>(options, testbed.ports()),
                                          std::make_unique<NetworkModel>(reference_network(setup)));
}

RunResult emulate(Session& session) {
  RealClock clock;
  const std::unique_ptr<Testbed> testbed = make_testbed(session.setup);
  RoceOptions options = roce_options(session.setup);
  options.standstill = Duration(first_timeout(reliable_options(options.profile, options.mtu)).ps / 2);
  const std::unique_ptr<Transport> transport = wire_and_local(session.setup, options, *testbed);
  return execute(session.setup, {Fidelity::kEmulated, "real", clock, *transport, testbed.get()}, *session.recorder,
                 interrupt_flag());
}

RunResult run_twin(Session& session) {
  VirtualClock clock;
  const std::unique_ptr<Testbed> testbed = make_memory_testbed(session.setup);
  const std::unique_ptr<Transport> transport = wire_and_local(session.setup, roce_options(session.setup), *testbed);
  return execute(session.setup, {Fidelity::kTwin, "virtual", clock, *transport, testbed.get()}, *session.recorder,
                 interrupt_flag());
}

RunResult run_reference(Session& session) {
  VirtualClock clock;
  NetworkModel model(reference_network(session.setup));
  return execute(session.setup, {Fidelity::kReference, "virtual", clock, model, nullptr}, *session.recorder,
                 interrupt_flag());
}

/// Closes the record, draws it, prints the summary, and turns the verdict into an exit status.
int finish(Session& session, const RunRequest& request, bool ok) {
  session.recorder.reset();
  const OperationStatistics operations = write_report(session.folder->path());
  const RunReader reader(session.folder->path());
  const nlohmann::ordered_json summary = rankwire::summary(reader);
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
  open_session(session, request);
  const RunResult emulated = emulate(session);
  const RunResult reference = run_reference(session);
  return finish(session, request, emulated.verdict == Verdict::kOk && reference.verdict == Verdict::kOk);
}

int run_simulation(const RunRequest& request, bool twin) {
  Session session;
  open_session(session, request);
  const bool twin_ok = !twin || run_twin(session).verdict == Verdict::kOk;
  return finish(session, request, run_reference(session).verdict == Verdict::kOk && twin_ok);
}

int draw_report(const std::filesystem::path& folder, const std::string& formats) {
  write_report(folder, formats.empty() ? standard_formats() : parse_formats(formats));
  return 0;
}

}  // namespace rankwire
