// The fault campaign: seeded cases in virtual time, and the command that replays one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>

#include "base/transport_counters.h"
#include "tests/campaign/crash_line.h"
#include "tests/campaign/fault_run.h"
#include "tests/campaign/sightings.h"
#include "tests/campaign/transitions.h"

namespace {

// Prints what was covered; false when something was not.
bool print_coverage() {
  using namespace rankwire;
  using namespace rankwire::testing;
  size_t asked_for = 0, missing = 0;
  fmt::print("{:80} {:>12} {:>8}\n", "transition", "times", "first");
  for (const TransitionCounts* counts : {&transitions_of<Requester>(), &transitions_of<Responder>()}) {
    counts->print();
    asked_for += counts->asked_for();
    missing += counts->missing();
  }
  fmt::print("\n{:80} {:>12} {:>8}\n", "met", "times", "first");
  sightings().print();
  fmt::print("\n{} of {} transitions and {} of {} other things were met\n", asked_for - missing, asked_for,
             sightings().asked_for() - sightings().missing(), sightings().asked_for());
  return missing == 0 && sightings().missing() == 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rankwire::testing;
  CLI::App app{
      "Runs seeded faults against the transport in virtual time: every message arrives once or fails with a reason."};
  uint64_t first = 0, seeds = 300, most_faults = 1;
  app.add_option("--first", first, "first seed");
  app.add_option("--seeds", seeds, "how many seeds")->check(CLI::PositiveNumber);
  app.add_option("--faults", most_faults, "end after so many seeds have failed")->check(CLI::PositiveNumber);
  uint32_t workers = 1;
  app.add_option("--workers", workers, "among which the hosts are dealt out")->check(CLI::Range(1, 8));
  bool transitions = false;
  app.add_flag("--transitions", transitions, "print which transitions were made, and fail when one never was");
  app.footer("Example: fault_campaign --first 17 --seeds 1");
  CLI11_PARSE(app, argc, argv);

  watch_for_crashes(argv[0]);
  FaultVerdict sum;
  uint64_t faults = 0, ran = 0, with_failures = 0;
  for (uint64_t seed = first; seed < first + seeds && faults < most_faults; ++seed, ++ran) {
    watch_seed(seed);
    const FaultCase fault = make_fault_case(seed);
    const FaultVerdict verdict = run(fault, workers);
    sum.messages += verdict.messages;
    sum.delivered += verdict.delivered;
    sum.failed += verdict.failed;
    sum.counters += verdict.counters;
    with_failures += verdict.failed > 0;
    if (verdict.fault.empty() && seeds > 1) continue;
    fmt::print("{}\n", describe(fault));
    if (verdict.fault.empty()) continue;
    ++faults;
    fmt::print("  {}\n  again: {} --first {} --seeds 1{}\n", verdict.fault, argv[0], seed,
               workers > 1 ? fmt::format(" --workers {}", workers) : "");
  }
  const bool covered = !transitions || print_coverage();
  fmt::print("{} seeds, {} with failed queue pairs, {} faults; {} messages, {} delivered, {} failed", ran,
             with_failures, faults, sum.messages, sum.delivered, sum.failed);
  for (const rankwire::CounterField& field : rankwire::transport_counters())
    if (sum.counters.*field.field > 0) fmt::print(", {} {}", field.name, sum.counters.*field.field);
  fmt::print("\n");
  return faults > 0 || !covered ? 1 : 0;
}
