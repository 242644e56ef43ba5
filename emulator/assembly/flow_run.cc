#include "emulator/assembly/flow_run.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "emulator/assembly/execute.h"
#include "emulator/assembly/reference.h"
#include "emulator/simulator/link_sharing.h"
#include "emulator/simulator/network_model.h"
#include "emulator/symmetry/quotient.h"

namespace rankwire {
namespace {

/// By connection of the plan, invalid where the job is idle and in the background; none where fewer than two jobs are
/// at work, so that there is nothing to share.
std::vector<JobId> jobs_of_connections(const Setup& setup) {
  std::vector<JobId> jobs;
  if (std::ranges::count(setup.workload.jobs, false, &Job::idle) < 2) return jobs;
  for (const Connection& connection : setup.plan.transport.connections) {
    const bool counts = !setup.background.has(connection.id) && !setup.workload.is_idle(connection.job);
    jobs.push_back(counts ? connection.job : JobId::invalid());
  }
  return jobs;
}

bool is_too_much(const Network& network, std::span<const JobId> jobs) {
  std::vector<LinkSharing::Flow> flows;
  for (size_t c = 0; c < network.routes.size(); ++c) flows.push_back({jobs[c], &network.routes[c]});
  return LinkSharing::is_too_much(network.links, flows);
}

/// `name_of(link)`: as the record calls it.
template <class NameOf>
std::vector<SharedLinkRow> shared_link_rows(std::span<const SharedLink> shared, NameOf name_of) {
  std::vector<SharedLinkRow> rows;
  for (const SharedLink& link : shared) {
    rows.push_back({.link = name_of(link.link),
                    .job = link.job,
                    .other = link.other,
                    .time = link.time,
                    .shared = link.shared,
                    .bytes = link.bytes,
                    .shared_bytes = link.shared_bytes});
  }
  return rows;
}

std::optional<RunResult> folded(const Setup& setup, const Network& network, std::span<const JobId> jobs,
                                const char* model, RunRecorder::Run& record, const RunControl& control) {
  if (setup.config.messages == MessageRecording::kAll || !may_fold(setup, network)) return std::nullopt;
  if (!jobs.empty() && is_too_much(network, jobs)) return std::nullopt;
  const std::optional<Quotient> reduced = quotient(setup.workload, setup.plan, network);
  if (!reduced) return std::nullopt;
  FoldedQuestions questions;
  if (!jobs.empty()) {
    questions.jobs = jobs;
    questions.shared_links = [&](std::span<const SharedLink> shared) {
      return shared_link_rows(shared, [&](LinkId link) { return network.links[link.value].name; });
    };
  }
  return execute_folded(setup, *reduced, model, questions, record, control);
}

/// Every rank.
RunResult execute_whole(const Setup& setup, Network network, std::span<const JobId> jobs,
                        const NodeVariation* variation, const char* model, RunRecorder::Run& record,
                        const RunControl& control) {
  VirtualClock clock;
  NetworkModel transport(std::move(network));
  if (!jobs.empty() && !transport.watch_sharing(jobs)) {
    record.warning("who shares links with whom is not counted: too many jobs meet on too many links");
  }
  const auto add_shared_links = [&](RunEnd& end) {
    if (transport.sharing() == nullptr) return;
    end.shared_links =
        shared_link_rows(transport.sharing()->shared(), [&](LinkId link) { return transport.link_name(link); });
  };
  return execute(setup,
                 {.fidelity = Fidelity::kReference,
                  .clock_name = "virtual",
                  .clock = clock,
                  .transport = transport,
                  .testbed = nullptr,
                  .model = model,
                  .variation = variation,
                  .complete = add_shared_links},
                 record, control);
}

}  // namespace

Network FlowVariant::network_of(const Setup& setup, Network network) const {
  return network_with(nics, setup, std::move(network));
}

bool may_fold(const Setup& setup, const Network& network) {
  return setup.variation == nullptr && network.reroutes.empty() && setup.background.empty();
}

RunResult execute_flow(const Setup& setup, const char* model, RunRecorder::Run& record, const RunControl& control) {
  Network network = reference_network(setup);
  const std::vector<JobId> jobs = jobs_of_connections(setup);
  if (std::optional<RunResult> result = folded(setup, network, jobs, model, record, control)) return std::move(*result);
  return execute_whole(setup, std::move(network), jobs, nullptr, model, record, control);
}

RunResult execute_flow(const Setup& setup, const FlowVariant& variant, const char* model, RunRecorder::Run& record,
                       const RunControl& control) {
  return execute_whole(setup, variant.network_of(setup, reference_network(setup)), jobs_of_connections(setup),
                       variant.variation, model, record, control);
}

}  // namespace rankwire
