#include "emulator/record/recorder.h"

#include <algorithm>
#include <utility>

#include "emulator/record/record_writer.h"

namespace rankwire {

RecordSink& RunRecorder::Run::begin(const RunStart& start) {
  writer_->begin(number_, start);
  return sink();
}

RecordSink& RunRecorder::Run::sink(uint32_t shard) const {
  return writer_->sink(number_, shard);
}

void RunRecorder::Run::warning(const std::string& text) {
  writer_->store([&](RunStore& store) { store.warning(number_, text); });
}

void RunRecorder::Run::flows(std::span<const FlowRow> flows) {
  writer_->store_of(number_, "flows", [&](RunStore& store) { store.flows(number_, flows); });
}

void RunRecorder::Run::messages(const MessageSummary& summary) {
  writer_->store_of(number_, "messages", [&](RunStore& store) { store.messages(number_, summary); });
}

void RunRecorder::Run::end(const RunEnd& end) {
  writer_->end(number_, end);
}

void RunRecorder::Run::take_parts(std::span<const RecordPart> parts) {
  writer_->store([&](RunStore& store) { store.take_parts(number_, parts, writer_->options()); });
}

void RunRecorder::Run::fail(const std::optional<RunStart>& start, const std::string& reason) {
  if (start && !writer_->has_begun(number_)) begin(*start);
  if (writer_->is_open(number_)) end({.verdict = "failed", .reason = reason});
}

size_t rows_of_sink(const RecorderOptions& options, const RunStart& start) {
  constexpr uint64_t kAwaited = uint64_t{1} << 16;  // what a run in virtual time makes while the writer may sleep, 2 ms
  const uint64_t most = start.clock == "virtual" ? std::min<uint64_t>(options.ring, kAwaited) : options.ring;
  return std::bit_ceil(std::clamp<uint64_t>(start.rows, 1, most));
}

RunRecorder::RunRecorder(const std::filesystem::path& folder, const RecorderOptions& options)
    : writer_(std::make_unique<RecordWriter>(folder, options)) {}

RunRecorder::~RunRecorder() = default;

void RunRecorder::configuration(const std::string& config, const std::string& version,
                                const std::map<std::string, std::string>& dut) {
  writer_->store([&](RunStore& store) { store.configuration(config, version, dut); });
}

void RunRecorder::jobs(std::span<const JobInfo> jobs) {
  writer_->store([&](RunStore& store) { store.jobs(jobs); });
}

void RunRecorder::jobs_alone(std::span<const JobAlone> jobs) {
  writer_->store([&](RunStore& store) { store.jobs_alone(jobs); });
}

void RunRecorder::ensemble(std::span<const Duration> completions) {
  writer_->store([&](RunStore& store) { store.ensemble(completions); });
}

void RunRecorder::ensemble_stretched(std::span<const Duration> completions) {
  writer_->store([&](RunStore& store) { store.ensemble_stretched(completions); });
}

void RunRecorder::ensemble_ranks(std::span<const std::vector<Duration>> members) {
  writer_->store([&](RunStore& store) { store.ensemble_ranks(members); });
}

void RunRecorder::ensemble_operations(std::span<const EnsembleOperation> rows) {
  writer_->store([&](RunStore& store) { store.ensemble_operations(rows); });
}

void RunRecorder::what_if(std::span<const WhatIfRow> rows) {
  writer_->store([&](RunStore& store) { store.what_if(rows); });
}

void RunRecorder::certificate(const Certificate& certificate) {
  writer_->store([&](RunStore& store) { store.certificate(certificate); });
}

void RunRecorder::limits(std::span<const LimitInfo> limits) {
  writer_->store([&](RunStore& store) { store.limits(limits); });
}

void RunRecorder::background(std::span<const BackgroundInfo> entries, RankId first_end,
                             std::span<const std::string> ends) {
  writer_->store([&](RunStore& store) { store.background(entries, first_end, ends); });
}

void RunRecorder::connection_cables(std::span<const ConnectionCables> rows) {
  writer_->store([&](RunStore& store) { store.connection_cables(rows); });
}

void RunRecorder::nodes(std::span<const NodeInfo> nodes) {
  writer_->store([&](RunStore& store) { store.nodes(nodes); });
}

void RunRecorder::request_marks(std::span<const RequestMarkInfo> marks) {
  writer_->store([&](RunStore& store) { store.request_marks(marks); });
}

void RunRecorder::objectives(const ServiceObjectives& objectives) {
  writer_->store([&](RunStore& store) { store.objectives(objectives); });
}

void RunRecorder::warning(const std::string& text) {
  writer_->store([&](RunStore& store) { store.warning(RunStore::kNoRun, text); });
}

RunRecorder::Run RunRecorder::next_run() {
  return Run(*writer_, writer_->next_number());
}

RunRecorder::Run RunRecorder::begin(const RunStart& start) {
  Run run = next_run();
  run.begin(start);
  return run;
}

bool RunRecorder::has_begun() const {
  return writer_->has_begun();
}

void RunRecorder::fail(const std::string& reason) {
  writer_->store([&](RunStore& store) { store.failure(reason); });
  for (const uint32_t number : writer_->open_runs()) Run(*writer_, number).fail({}, reason);
}

void RunRecorder::interrupted(const std::string& reason) {
  writer_->store([&](RunStore& store) { store.interruption(reason); });
}

RunRecorder::Following::Following(const Run& run, std::vector<LiveMeasurements*> live) : run_(run) {
  std::erase(live, nullptr);
  run_.writer_->follow(run_.number_, std::move(live));
}

RunRecorder::Following::~Following() {
  run_.writer_->follow(run_.number_, {});
}

void RunRecorder::flush() {
  writer_->flush();
}

}  // namespace rankwire
