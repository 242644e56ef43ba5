#include "emulator/assembly/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "dataplane/dpdk/environment.h"
#include "emulator/assembly/background.h"
#include "emulator/assembly/connection_cables.h"
#include "emulator/assembly/device_run.h"
#include "emulator/assembly/dilation.h"
#include "emulator/assembly/ensemble_sharing.h"
#include "emulator/assembly/execute.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/limits.h"
#include "emulator/assembly/live_run.h"
#include "emulator/assembly/machine_run.h"
#include "emulator/assembly/machine_shares.h"
#include "emulator/assembly/machine_stop.h"
#include "emulator/assembly/machine_verbs.h"
#include "emulator/assembly/port_certification.h"
#include "emulator/assembly/rate_sampling.h"
#include "emulator/assembly/real_time_transports.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/run_end.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/verbs_options.h"
#include "emulator/assembly/workers.h"
#include "emulator/machines/launch.h"

namespace rankwire {
namespace {

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

RecorderOptions record_options(const RunConfig& config) {
  return {.operations = config.record_operations,
          .messages = message_detail(config.messages),
          .causes = config.record_operations && config.record_causes};
}

/// Of a machine's part, whose messages have their other ends on other machines.
RecorderOptions part_options(const RunConfig& config) {
  const bool any = config.messages != MessageRecording::kNone;
  return {.operations = config.record_operations,
          .messages = any ? MessageDetail::kAll : MessageDetail::kNone,
          .causes = config.record_operations && config.record_causes,
          .waiting_halves = 0};
}

/// Those that are started are those that ports name.
void require_machines(const ResolvedRun& resolved, const Machines* machines) {
  if (resolved.kind != RunKind::kEmulated) return;
  const RunConfig& config = resolved.config;
  const std::vector<std::string> named = machines_of(config);
  if (machines == nullptr) {
    if (named.empty()) return;
    fail_key(config.places, "ports",
             "are on {0} machines ({1}): start a process on each, as by `mpirun -n {0} rankwire run` or "
             "`srun --mpi=pmix -n {0} rankwire run`{2}",
             named.size(), fmt::join(named, ", "),
             has_machine_links() ? "" : "; this rankwire was built without MPI, by which they would meet");
  }
  if (named.empty())
    fail_key(config.places, "ports",
             "need 'on', the machine that drives each: {} processes were started together, on {}", machines->count(),
             fmt::join(machines->names(), ", "));
  require_machines_can(config);
  machine_of_ports(config, machines->names());
  for (const std::string& name : machines->names())
    if (std::ranges::find(named, name) == named.end())
      fail_key(config.places, "ports", "none is on machine '{}', on which a process was started; they are on {}", name,
               fmt::join(named, ", "));
}

void require_ports(const RunConfig& config, const char* what) {
  if (config.ports.empty())
    fail_input("{}: {} needs 'ports'; `rankwire simulate` runs the model alone", config.file, what);
}

}  // namespace

ResolvedRun resolve(const std::string& file, std::span<const std::string> settings, RunKind kind, Machines* machines) {
  return resolve(load_config(file, settings), kind, machines);
}

ResolvedRun resolve(RunConfig config, RunKind kind, Machines* machines) {
  if (kind == RunKind::kTwin) require_ports(config, "the twin");
  if (kind == RunKind::kEmulated) {
    require_ports(config, "an emulated run");
    if (config.hybrid && config.hybrid->wired.empty())
      fail_key(config.places, "hybrid.wired",
               "names no host, so that nothing would go over wires; `rankwire simulate --twin` runs the model alone");
    take_path_mtu(config, machines);
  }
  return {std::move(config), kind};
}

bool all_ok(std::span<const CompletedRun> runs) {
  return std::ranges::all_of(runs, [](const CompletedRun& run) { return run.result.verdict == Verdict::kOk; });
}

PreparedRun::PreparedRun(const ResolvedRun& resolved, const FolderChoice& folder, OpenPorts* open, Machines* machines)
    : kind_(resolved.kind), machines_(machines), folder_(folder), open_(open != nullptr ? *open : own_) {
  const RunConfig& config = resolved.config;
  require_machines(resolved, machines);
  if (machines != nullptr && kind_ == RunKind::kEmulated) setup_.machine = machines->own_name();
  if (machines != nullptr && machines->leads()) {
    std::filesystem::remove_all(folder_.path() / kPartsFolder);  // of an earlier run
    machines->from_leader(std::filesystem::absolute(folder_.path()).string());
  }
  prepare(setup_, on_wires(config), folder_.path());
  if (machines != nullptr) agree_on_setup(*machines, setup_, RANKWIRE_VERSION);
  if (has_unstretched_device(config)) {
    prepare(stretched_.emplace(), config, folder_.path());
    for (std::string& note : unstretched(config)) setup_.warnings.push_back(std::move(note));
  }
  if (config.hybrid && config.simulation.has(SimulationFidelity::kTwin)) {
    RunConfig whole = config;
    whole.hybrid.reset();
    for (PortConfig& port : whole.ports) port.modelled = false;
    prepare(whole_.emplace(), whole, folder_.path());
  }
  folder_.clear();
  if (kind_ == RunKind::kEmulated) {
    require_cpus(config);
    const std::vector<uint32_t> cores = one_of_each_core(allowed_cpus());
    threads_ = worker_threads(config, cores, setup_.machine);
    if (auto finding = core_finding(config, threads_, cores.size())) setup_.warnings.push_back(std::move(*finding));
    if (!threads_.cpus.empty()) avoided_.emplace(threads_.cpus);
  }
  recorder_.emplace(folder_.path(),
                    machines != nullptr && !machines->leads() ? part_options(config) : record_options(config));
  recorder_->configuration(resolved_json((stretched_ ? *stretched_ : setup_).config), RANKWIRE_VERSION, config.dut);
  record_jobs();
  if (setup_.config.limits) recorder_->limits(limit_infos(*setup_.config.limits));
  if (!setup_.background.empty())
    recorder_->background(background_infos(setup_), setup_.background.first_end, setup_.background.ends);
  // They tell whose traffic was in the way, which is asked where causes are recorded.
  if (config.record_causes) recorder_->connection_cables(connection_cables(setup_));
  if (config.record_operations) {
    record_nodes();
    record_requests();
  } else {
    recorder_->warning(
        "record.operations is none: nothing is said of single operations, nor of what follows from them");
  }
  take_warnings(0);
}

PreparedRun::~PreparedRun() {
  close_record();
}

void PreparedRun::close_record() {
  if (recorder_ && recorder_->has_begun()) {
    has_begun_ = true;
    folder_.keep();
  }
  recorder_.reset();
}

void PreparedRun::certified(Certificate certificate) {
  certificate_ = std::move(certificate);
}

std::vector<PortCertificate> PreparedRun::measure_ports(const RunControl& control) {
  const std::vector<PortConfig>& ports = setup_.config.ports;
  if (ports.front().embedded() || std::ranges::all_of(ports, &PortConfig::is_rdma_device)) return {};
  const WorkerShares shares(setup_, threads_.count);
  const std::unique_ptr<Testbed> testbed = open_testbed(shares, control);
  return certify_ports(setup_, *testbed, shares, threads_.cpus, control.interrupted);
}

void PreparedRun::complete_certificate(const RunControl& control) {
  if (!certificate_) return;
  // Whatever became of the rest of it.
  if (!control.interrupted) certificate_->ports = measure_ports(control);
  recorder_->certificate(*certificate_);
}

/// Those from `first` on.
void PreparedRun::take_warnings(size_t first) {
  for (size_t i = first; i < setup_.warnings.size(); ++i) recorder_->warning(setup_.warnings[i]);
}

std::vector<CompletedRun> PreparedRun::run(const RunControl& control) {
  if (!recorder_) fail_run("{}: this run has been run already", folder().string());
  std::vector<CompletedRun> runs;
  try {
    const std::exception_ptr error = kind_ == RunKind::kEmulated ? emulate_as_far_as_it_goes(control, runs) : nullptr;
    avoided_.reset();
    const uint32_t threads = run_threads(setup_.config.simulation);
    const bool leads = machines_ == nullptr || machines_->leads();
    std::optional<MachineStop> stop;
    if (leads && machines_ != nullptr) stop.emplace(*machines_, control);
    const RunControl& own = stop ? stop->control() : control;
    if (leads) run_models(threads, own, runs);
    if (error) std::rethrow_exception(error);
    if (leads) run_further(runs, threads, own, stop ? &*stop : nullptr);
    if (!leads) help_with_ensemble(setup_, *machines_, threads, control);
  } catch (const std::exception& error) {
    record_failure(error);
    throw;
  }
  close_record();
  return runs;
}

void PreparedRun::record_failure(const std::exception& error) {
  if (!recorder_) return;  // it was complete by then
  try {
    recorder_->fail(error.what());
    tells_failure_ = true;
  } catch (const std::exception&) {  // the first one says more
  }
  close_record();
}

/// What ended it once it was under way, so that the models can still say what was to be expected. What keeps it from
/// beginning at all is thrown.
std::exception_ptr PreparedRun::emulate_as_far_as_it_goes(const RunControl& control, std::vector<CompletedRun>& runs) {
  try {
    runs = emulate_all(control);
  } catch (const Error&) {
    own_ = {};
    if (!recorder_ || !recorder_->has_begun()) throw;
    return std::current_exception();
  }
  return nullptr;
}

std::vector<CompletedRun> PreparedRun::emulate_all(const RunControl& control) {
  std::vector<CompletedRun> runs;
  if (machines_ != nullptr) {
    runs.push_back(emulate_on_machines(control));
    own_ = {};
    return runs;
  }
  complete_certificate(control);
  const uint32_t planned = setup_.config.run.repeat;
  Duration spent;
  for (uint32_t number = 1; number <= planned; ++number) {
    if (number > 1 && control.interrupted) break;
    const Repetition repetition{.number = number, .planned = planned};
    const RunResult& result =
        runs.emplace_back(emulate(repetition, spent, recorder_->next_run(), nullptr, control)).result;
    spent += result.total;
    const bool has_begun = result.verdict == Verdict::kOk || result.total > Duration();
    if (!has_begun || (result.verdict != Verdict::kOk && spent >= setup_.config.run.deadline)) break;
  }
  own_ = {};
  return runs;
}

/// Of what it finds doubtful only what no repetition before has found.
std::unique_ptr<Testbed> PreparedRun::open_testbed(const WorkerShares& shares, const RunControl& control) {
  Warnings& warnings = setup_.warnings;
  const size_t known = warnings.size();
  std::unique_ptr<Testbed> testbed = make_testbed(setup_, shares, open_, machines_);
  const auto first = warnings.begin() + static_cast<std::ptrdiff_t>(known);
  const auto is_known = [&](const std::string& text) { return std::find(warnings.begin(), first, text) != first; };
  warnings.erase(std::remove_if(first, warnings.end(), is_known), warnings.end());
  take_warnings(known);
  for (size_t i = known; i < warnings.size(); ++i) control.warned(warnings[i]);
  return testbed;
}

CompletedRun PreparedRun::emulate(const Repetition& repetition, Duration spent, RunRecorder::Run record,
                                  MachineRun* machine, const RunControl& control) {
  RealClock real_clock(setup_.config.dilation.factor);
  Clock& clock = machine != nullptr ? static_cast<Clock&>(machine->clock()) : real_clock;
  const WorkerShares shares(setup_, threads_.count);
  const std::unique_ptr<Testbed> testbed = open_testbed(shares, control);
  const std::string capture =
      repetition.number == 1 ? "capture.pcapng" : fmt::format("capture-{}.pcapng", repetition.number);
  testbed->capture_to(folder() / capture);
  if (!testbed->verbs_ports().empty()) tell_message_sizes(setup_);
  const std::unique_ptr<Impairments> impairments = make_impairments(setup_);
  const std::shared_ptr<LiveFeed> live =
      control.look_on ? live_feed(setup_, "emulated" + ordinal(repetition), shares.workers()) : nullptr;
  std::vector<RateSeries> rates = rate_series(setup_.config, shares.workers());
  RealTimeTransports transports(setup_, *testbed, shares, impairments.get(), control.interrupted, live.get(), rates);
  if (live) control.look_on(live);
  const Workers workers{.shares = shares, .transports = transports.each(), .cpus = threads_.cpus};
  const std::vector<DeviceCountersConfig>& devices = setup_.config.device_counters;
  std::optional<DeviceCollector> collector;
  std::optional<LiveDeviceCounters> live_counters;
  if (!devices.empty() && (machines_ == nullptr || machines_->leads())) {
    collector.emplace(device_sources(setup_.config), control.interrupted);
    for (const std::string& trouble : collector->wait_for_first()) control.warned(trouble);
    live_counters.emplace(*collector, setup_.config);
  }
  RunResult result = execute_captured(setup_,
                                      {.fidelity = Fidelity::kEmulated,
                                       .clock_name = "real",
                                       .clock = clock,
                                       .transport = transports.all(),
                                       .testbed = testbed.get(),
                                       .impairments = impairments.get(),
                                       .workers = &workers,
                                       .repetition = repetition,
                                       .live = live.get(),
                                       .rates = rates,
                                       .spent = spent,
                                       .beside = live_counters ? &*live_counters : nullptr,
                                       .machine = machine,
                                       .begun =
                                           [&] {
                                             if (live_counters) live_counters->begin(clock);
                                           },
                                       .complete =
                                           [&](RunEnd& end) {
                                             if (machine != nullptr) machine->counted(end);
                                             if (collector)
                                               end.device_counters =
                                                   take_device_counters(*collector, setup_.config, clock, record);
                                           }},
                                      capture.c_str(), record, control);
  return {Fidelity::kEmulated, "", std::move(result)};
}

CompletedRun PreparedRun::emulate_part(RunRecorder& recorder, MachineRun& machine, const RunControl& control) {
  machine.compare_clocks();
  try {
    CompletedRun run = emulate({}, {}, recorder.next_run(), &machine, control);
    recorder.flush();
    return run;
  } catch (const Error& error) {
    if (!machines_->leads() || !machines_->others_are_present()) throw;  // what others say names them
    throw Error(error.kind(), fmt::format("machine '{}': {}", machines_->own_name(), error.what()));
  }
}

/// Each machine records its part. The leader, whose part is as good as another's, makes the record of the run of them.
CompletedRun PreparedRun::emulate_on_machines(const RunControl& control) {
  MachineRun machine(setup_, *machines_);
  if (!machines_->leads()) {
    CompletedRun run = emulate_part(*recorder_, machine, control);
    close_record();
    machine.hand_in(run.result, folder());
    return run;
  }
  const std::filesystem::path own_folder = part_folder(folder(), machines_->own_name());
  std::filesystem::create_directories(own_folder);
  std::optional<CompletedRun> own;
  try {
    RunRecorder recorder(own_folder, part_options(setup_.config));
    own = emulate_part(recorder, machine, control);
  } catch (const Error&) {
    std::filesystem::remove_all(folder() / kPartsFolder);
    throw;
  }
  return put_together(machine, *own);
}

CompletedRun PreparedRun::put_together(MachineRun& machine, const CompletedRun& own) {
  const auto reports = machine.collect(own.result, folder());
  std::optional<StallRow> stall = machine.stall(reports);
  for (const std::string& finding : machine.findings()) recorder_->warning(finding);
  RunRecorder::Run whole = recorder_->next_run();
  whole.begin({.fidelity = Fidelity::kEmulated,
               .clock = "real",
               .ranks = static_cast<uint32_t>(setup_.workload.ranks.size()),
               .seed = setup_.config.seed,
               .rows = 1,
               .model = {},
               .repetition = {}});
  RunResult result = joined_result(machines_->names(), reports);
  result.jobs = own.result.jobs;
  RunEnd end = run_end(setup_, result,
                       {.per_rank = std::vector<Duration>(setup_.workload.ranks.size()),
                        .messages = joined_messages(reports),
                        .is_part = std::ranges::any_of(reports, [](const auto& report) { return !report; })});
  end.counters = {};  // of the parts, whose are added up
  end.stall = std::move(stall);
  machine.tell_lost_links(reports, result, end);
  whole.end(end);
  whole.take_parts(machine.parts());
  if (result.verdict == Verdict::kOk) std::filesystem::remove_all(folder() / kPartsFolder);
  return {Fidelity::kEmulated, "", std::move(result)};
}

}  // namespace rankwire
