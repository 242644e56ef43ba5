#include "emulator/symmetry/folded_run.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/transport.h"

namespace rankwire {
namespace {

EngineOptions folded_options(EngineOptions options) {
  // Payloads are not carried, and the ids of messages are not theirs.
  options.messages.payload_keys = PayloadKeys::kIgnored;
  options.messages.watch_ties = true;
  return options;
}

/// The model, whose events a sample is told of, for which that takes memory.
class SampledModel final : public Transport {
 public:
  SampledModel(NetworkModel& model, MessageSample& sample) : model_(model), sample_(sample) {}

  std::vector<EndPoint> prepare(const TransportPlan& plan) override { return model_.prepare(plan); }
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override { return model_.connect(remote); }
  size_t post(Time now, std::span<const Message> messages) noexcept override { return model_.post(now, messages); }
  size_t poll(Time now, std::span<Event> events) noexcept override {
    const size_t reported = model_.poll(now, events);
    for (const Event& event : events.first(reported)) sample_.add(event);
    return reported;
  }
  Time next_event() const noexcept override { return model_.next_event(); }
  uint64_t activity() const noexcept override { return model_.activity(); }
  TransportCounters counters() const override { return model_.counters(); }
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override { return model_.flows_of(range); }
  std::vector<PortCounters> ports() const override { return model_.ports(); }
  std::string describe(ConnectionId connection) const override { return model_.describe(connection); }
  void close() noexcept override { model_.close(); }

 private:
  NetworkModel& model_;
  MessageSample& sample_;
};

}  // namespace

FoldedRun::FoldedRun(const Quotient& quotient, const EngineOptions& options, MessageSample* sample,
                     std::span<const JobId> jobs)
    : quotient_(quotient),
      sample_(sample),
      model_(quotient.network),
      engine_(quotient.workload, quotient.plan, folded_options(options), rows_) {
  model_.connect(model_.prepare(quotient.plan.transport));
  if (jobs.empty()) return;
  std::vector<JobId> of_classes;
  for (const uint32_t first : quotient.classes.connections.first) of_classes.push_back(jobs[first]);
  model_.watch_sharing(of_classes);
}

bool FoldedRun::run(const RunOptions& options, const std::atomic<bool>& interrupted) {
  VirtualClock clock;
  clock.start();
  std::optional<SampledModel> sampled;
  if (sample_ != nullptr) sampled.emplace(model_, *sample_);
  Transport& transport = sampled ? static_cast<Transport&>(*sampled) : model_;
  result_ = rankwire::run(engine_, transport, {}, clock, options, interrupted);
  result_.jobs = engine_.job_spans();
  return result_.verdict == Verdict::kOk && !engine_.communication().tied();
}

std::vector<Duration> FoldedRun::rank_times() const {
  const std::vector<Duration> of_classes = engine_.rank_times();
  std::vector<Duration> times;
  for (const uint32_t c : quotient_.classes.ranks.class_of) times.push_back(of_classes[c]);
  return times;
}

CommunicationCounters FoldedRun::messages() const {
  CommunicationCounters sum;
  const std::vector<FlowCounters> of_classes = model_.flows();
  for (const uint32_t c : quotient_.classes.connections.class_of) {
    const FlowCounters& flow = of_classes[c];
    sum.posted += flow.messages, sum.sent += flow.messages, sum.delivered += flow.messages;
    if (!quotient_.plan.transport.connections[c].control)
      sum.bytes_delivered += Bytes(static_cast<int64_t>(flow.bytes));
  }
  return sum;
}

std::vector<FlowCounters> FoldedRun::flows_of(ConnectionRange range) const {
  const std::vector<FlowCounters> of_classes = model_.flows();
  const std::vector<uint32_t>& class_of = quotient_.classes.connections.class_of;
  std::vector<FlowCounters> flows;
  for (uint32_t c = range.begin; c < std::min<size_t>(range.end, class_of.size()); ++c) {
    flows.push_back(of_classes[class_of[c]]);
    flows.back().connection = ConnectionId(c);
  }
  return flows;
}

std::vector<SharedLink> FoldedRun::shared() const {
  std::vector<SharedLink> rows;
  if (model_.sharing() == nullptr) return rows;
  const Partition& links = quotient_.classes.links;
  std::vector<std::vector<SharedLink>> of_classes(links.classes());
  for (const SharedLink& row : model_.sharing()->shared()) of_classes[row.link.value].push_back(row);
  for (uint32_t link = 0; link < links.class_of.size(); ++link) {
    for (SharedLink row : of_classes[links.class_of[link]]) {
      row.link = LinkId(link);
      rows.push_back(row);
    }
  }
  return rows;
}

void FoldedRun::tell(RecordSink& sink) const {
  std::vector<std::vector<RankId>> members(quotient_.classes.ranks.classes());
  for (uint32_t r = 0; r < quotient_.classes.ranks.class_of.size(); ++r)
    members[quotient_.classes.ranks.class_of[r]].push_back(RankId(r));
  for (OperationRecord row : rows_.rows()) {
    for (const RankId rank : members[row.rank.value]) {
      row.rank = rank;
      sink.operations({&row, 1});
    }
  }
}

}  // namespace rankwire
