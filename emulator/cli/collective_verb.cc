#include "emulator/cli/collective_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "emulator/report/cluster.h"

namespace rankwire {
namespace {

/// What is about to happen, for whoever waits for it.
void print_demand(const RunConfig& config, RunKind kind) {
  const CollectiveDemand demand = collective_demand(config);
  const CollectiveSeriesConfig& series = config.workload.generate->collective;
  fmt::print("# {}: {} ranks, {} ports, {} sizes of {} + {} calls, about {:.3g} MB of payload",
             traits_of(series.operation).name, series.ranks, config.ports.size(), demand.sizes, series.warmup,
             series.iterations, static_cast<double>(demand.bytes.count) / 1e6);
  if (kind == RunKind::kEmulated) fmt::print(", {:.3g} s at line rate", static_cast<double>(demand.time.ps) / 1e12);
  fmt::print("\n");
  std::fflush(stdout);
}

/// What is wrong with a cluster's output is said before anything is measured.
void require_comparable(const RunConfig& config, const ClusterMeasurement& cluster) {
  const CollectiveSeriesConfig& series = config.workload.generate->collective;
  CollectiveTable table{.collective = series.operation, .ranks = series.ranks};
  for (const MeasuredSize& size : measured_sizes(series.series())) table.rows.push_back({.size = size.size});
  require_common_sizes(compare_with_cluster(std::move(table), cluster));
}

}  // namespace

int measure_collective(const CollectiveRequest& request) {
  const RunKind kind = request.no_run ? RunKind::kModels : request.twin ? RunKind::kTwin : RunKind::kEmulated;
  RunConfig config = collective_config(request.spec);
  if (!request.force) require_moderate(config, kind);
  RunRequest run = request.run;
  if (!request.against.empty()) {
    // Once: a pipe can be read no second time, and a file may be gone when the run has ended.
    run.cluster = read_nccl_tests(request.against);
    require_comparable(config, *run.cluster);
  }
  // A forced run is not cut short by a deadline that is meant for others; with a margin for latencies.
  constexpr Duration kLongest = seconds(200'000);
  if (request.force)
    config.run.deadline =
        std::max(config.run.deadline, Duration(std::min(collective_demand(config).time, kLongest).ps * 5));
  if (request.run.form == OutputForm::kTable && log_verbosity() == Verbosity::kNormal) print_demand(config, kind);
  run.overwrite = request.force && !run.out.empty();
  return run_configuration(run, std::move(config), kind);
}

void add_collective_verb(CLI::App& app, CollectiveRequest& request, bool& quiet, int& status) {
  CollectiveSpec& spec = request.spec;
  CLI::App& verb = *app.add_subcommand(
      "collective", "measure one collective over a range of sizes, as nccl-tests does, beside the reference");
  verb.add_option("OPERATION", spec.operation,
                  "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, all_to_all_v, gather, "
                  "scatter, sendrecv or hypercube")
      ->required();
  verb.add_option("--ranks", spec.ranks,
                  "emulated ranks; default: one a port, or as many as the hosts of --config hold");
  verb.add_option("-g,--ngpus", spec.npus, "ranks of a thread, that stand on one host; default: 1");
  verb.add_option("-t,--nthreads", spec.threads, "threads of a host, each with the ranks of --ngpus; default: 1");
  verb.add_option("--ports", spec.ports,
                  "NAME=DEVICE,NAME=DEVICE: ring (the embedded switch), a PCI address or verbs:NAME; default: a ring "
                  "port for each of at most 16 ranks")
      ->allow_extra_args(false);
  verb.add_option("--port", spec.port, "NAME=DEVICE, also of a DPDK device with commas; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--rate", spec.rate, "line rate of the ports; default for ring ports: 1Gbps");
  verb.add_option("--config", spec.config, "ports, fabric, mapping, transport and all else from this configuration");
  verb.add_option("-b,--min,--minbytes", spec.smallest, "smallest size, such as 8 or 64K; default: 8");
  verb.add_option("-e,--max,--maxbytes", spec.largest, "largest size, such as 128M; default: 4M");
  verb.add_option("-f,--factor,--stepfactor", spec.factor, "from one size to the next; default: 2");
  verb.add_option("-i,--stepbytes", spec.step, "what each size is more than the one before it, in place of --factor");
  verb.add_option("-w,--warmup,--warmup_iters", spec.warmup, "calls of each size that do not count; default: 5");
  verb.add_option("-n,--iterations,--iters", spec.iterations, "calls of each size that count; default: 20");
  verb.add_option("-d,--datatype", spec.datatype, "int8, half, float, double, bfloat16, ...; default: float");
  verb.add_option("-o,--redop,--op", spec.redop, "sum, prod, max, min or avg, which the table names; default: sum");
  verb.add_option("-r,--root", spec.root, "of broadcast, reduce, gather and scatter; default: 0");
  verb.add_flag(
      "-c,--check{1}", spec.check,
      "compare payload at its receiver: that every byte arrives as it was sent, not what a reduction makes of "
      "it; -c 0 does not, as without it");
  verb.add_flag("--barrier", spec.barrier, "a barrier before each call, whose time does not count");
  verb.add_option("-a,--average", spec.average,
                  "whose times are printed: 0 rank 0, 1 the mean over the ranks, 2 the fastest, 3 the slowest; "
                  "default: 1");
  verb.add_option("--spread", spec.spread,
                  "of all_to_all_v: 0% equal parts, 100% parts that grow with the distance of ranks; default: 100%");
  verb.add_option("--algorithm", spec.algorithm, "how it is carried out (docs/collectives.md); default: auto");
  verb.add_option("--channels", spec.channels, "independent copies of the algorithm, with queue pairs of their own");
  verb.add_option("--chunk", spec.chunk, "largest message, such as 1MiB");
  verb.add_option("--profile", spec.profile, "plain or nccl: who decides about messages")
      ->check(CLI::IsMember({"plain", "nccl"}));
  verb.add_option("--set", spec.settings, "key=value, overrides a key of the configuration; repeatable")
      ->allow_extra_args(false);
  CLI::Option* twin = verb.add_flag("--twin", request.twin,
                                    "packet by packet in virtual time instead of emulated; no device is touched");
  verb.add_flag("--no-run", request.no_run, "the reference alone; no device is touched")->excludes(twin);
  verb.add_option("--against", request.against,
                  "output of nccl-tests of a cluster, text or -J's JSON, to show beside it");
  verb.add_flag("--strict", request.run.strict,
                "exit 1 when the run is degraded, or the generator, not the device, set the pace");
  add_gate_options(verb, request.run.gating);
  verb.add_option("--out", request.run.out,
                  "run folder; default runs/NAME, or NAME-2 and so on where that holds a run");
  verb.add_flag(
      "--force", request.force,
      "also more than 256 GiB, 5 minutes or 2000000 calls, and overwrite the run that the --out folder holds");
  verb.add_flag_callback(
      "--json", [&request] { request.run.form = OutputForm::kJson; }, "print the summary as JSON");
  verb.add_flag("--quiet", quiet, "print errors only");
  verb.footer(
      "Example: rankwire collective all_reduce --ranks 8 --min 8 --max 1M --check\n"
      "     or: rankwire collective all_gather --ports p0=0000:81:00.0,p1=0000:81:00.1 --rate 100Gbps -b 1K -e 128M\n"
      "     or: rankwire collective broadcast --config configs/lab.yaml --no-run");
  verb.callback([&request, &status] { status = measure_collective(request); });
}

}  // namespace rankwire
