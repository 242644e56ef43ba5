#include "emulator/nic_check/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr const char* kCapture = "wire.pcapng";

/// Why what was seen does not decide.
std::string absence_of(const CaseRecord& record) {
  return fmt::format("; rankwire did not look at the wire for up to {:.3g} ms meanwhile, as the machine was busy",
                     static_cast<double>(record.longest_absence().ps) / 1e9);
}

template <class Bench>
CaseOutcome judge(const CaseOn<Bench>& test, Bench& bench, const std::atomic<bool>& interrupted) {
  try {
    bench.begin(interrupted);
    test.run(bench);
  } catch (const CaseFailed& failed) {
    bench.outcome().verdict = CaseVerdict::kFail;
    bench.outcome().reason = failed.reason;
    return std::move(bench.outcome());
  } catch (const CaseSkipped& skipped) {
    bench.outcome().verdict = CaseVerdict::kSkipped;
    bench.outcome().reason = skipped.reason;
    return std::move(bench.outcome());
  } catch (const CaseUndecided& undecided) {
    bench.outcome().verdict = CaseVerdict::kInconclusive;
    bench.outcome().reason = undecided.reason;
    return std::move(bench.outcome());
  }
  CaseOutcome outcome = CaseOutcome::of(std::move(bench.outcome().measurements));
  outcome.curves = std::move(bench.outcome().curves);
  outcome.anomalies = std::move(bench.outcome().anomalies);
  if (outcome.verdict == CaseVerdict::kPass) outcome.reason = std::move(bench.outcome().reason);
  if (outcome.verdict == CaseVerdict::kInconclusive) outcome.reason += absence_of(bench);
  return outcome;
}

template <class Bench>
CaseOutcome carry_out(const CaseOn<Bench>& test, Bench& bench, const CaseContext& context) {
  const auto keep_capture = [&](CaseOutcome& outcome) {
    if (bench.log().size() == 0) return;
    bench.log().write(context.folder / kCapture);
    outcome.artefacts.push_back({kCapture, "the wire at rankwire's end", bench.log().decisive()});
    if (bench.log().left_out() > 0)
      outcome.anomalies.push_back(fmt::format("{} frames found no room in the capture", bench.log().left_out()));
  };
  // What a NIC does, or leaves undone, says nothing of it where it cannot be seen.
  const auto require_presence = [&bench] {
    if (const std::string vanished = bench.vanished(); !vanished.empty()) fail_run("{}", vanished);
  };
  try {
    require_presence();
    CaseOutcome outcome = judge(test, bench, context.interrupted);
    if (outcome.verdict != CaseVerdict::kSkipped) require_presence();
    keep_capture(outcome);
    bench.end();
    return outcome;
  } catch (const std::exception& error) {
    const std::string vanished = bench.vanished();
    CaseOutcome outcome = CaseOutcome::error(vanished.empty() ? error.what() : vanished);
    keep_capture(outcome);
    try {
      bench.end();
    } catch (const std::exception&) {  // of which the first error may be the reason
    }
    return outcome;
  }
}

template <class Bench>
std::vector<TestCase> tests_of(std::vector<CaseOn<Bench>> cases, Bench* bench) {
  std::vector<TestCase> tests;
  for (CaseOn<Bench>& test : cases) {
    TestCase& added = tests.emplace_back();
    added.id = test.id;
    added.title = test.title;
    added.stimulus = test.stimulus;
    added.expectation = test.expectation;
    added.source = test.source;
    if (bench != nullptr)
      added.run = [test = std::move(test), bench](const CaseContext& context) {
        return carry_out(test, *bench, context);
      };
  }
  return tests;
}

}  // namespace

std::vector<TestCase> nic_tests(NicCases cases, NicBench* bench) {
  return tests_of(std::move(cases), bench);
}

std::vector<TestCase> perftest_catalogue(PerftestBench* bench) {
  std::vector<TestCase> catalogue = tests_of(perftest_cases(), bench);
  for (TestCase& test : nic_catalogue(nullptr)) {
    test.run = [](const CaseContext&) { return CaseOutcome::skipped("needs verbs: nic.verbs or nic.agent"); };
    catalogue.push_back(std::move(test));
  }
  return catalogue;
}

std::vector<TestCase> nic_catalogue(NicBench* bench) {
  std::vector<TestCase> catalogue;
  for (const auto family :
       {requester_loss_cases, requester_retry_cases, requester_ack_cases, requester_data_cases, requester_read_cases,
        responder_data_cases, responder_order_cases, responder_refusal_cases, responder_silence_cases,
        responder_read_cases, congestion_cases, flow_control_cases, robustness_cases, slow_receiver_cases, scale_cases,
        neighbour_cases, counter_cases, wire_counter_cases})
    std::ranges::move(nic_tests(family(), bench), std::back_inserter(catalogue));
  return catalogue;
}

}  // namespace rankwire
