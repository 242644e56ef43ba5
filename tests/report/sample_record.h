// A small record whose every number is known.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/record/recorder.h"
#include "emulator/report/report.h"
#include "emulator/report/summary.h"
#include "emulator/report/summary_table.h"
#include "tests/test_data.h"

namespace rankwire::testing {

inline NodeInfo sample_node(uint32_t rank, uint32_t index, const std::string& name, const std::string& kind) {
  NodeInfo node{.rank = RankId(rank), .node = index, .id = 10 + index, .name = name, .kind = kind, .job = JobId(0)};
  if (kind == "compute") {
    node.recorded = microseconds(10);
  } else {
    node.group = "dp";
    node.group_size = 2;
    node.bytes = Bytes(1'000'000);
  }
  return node;
}

inline OperationRecord sample_operation(uint32_t rank, uint32_t node, Time start, Time end) {
  return {.rank = RankId(rank), .node = node, .iteration = 0, .start = start, .end = end};
}

inline constexpr Time at_microsecond(int64_t n) {
  return Time(microseconds(n).ps);
}

/// Two ranks compute for 10 us and then all-reduce 1 MB: 40 us emulated, 20 us in the reference. Completion: 50 us and
/// 30 us.
inline void begin_sample(RunRecorder& recorder,
                         const std::string& configuration = R"({"name":"sample <b>","seed":7})") {
  recorder.configuration(configuration, "0.1.0", {{"vendor", "Acme & Söhne"}});
  recorder.nodes(
      std::vector{sample_node(0, 0, "gemm, \"big\"", "compute"), sample_node(0, 1, "grads <script>", "all_reduce"),
                  sample_node(1, 0, "gemm, \"big\"", "compute"), sample_node(1, 1, "grads <script>", "all_reduce")});
}

inline std::vector<OperationRecord> sample_operations(int64_t all_reduce_end) {
  std::vector<OperationRecord> rows;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    rows.push_back(sample_operation(rank, 0, Time(0), at_microsecond(10)));
    rows.push_back(sample_operation(rank, 1, at_microsecond(10), at_microsecond(all_reduce_end)));
  }
  return rows;
}

inline RunEnd sample_end(Duration completion) {
  RunEnd end{.completion = completion,
             .per_rank = {completion - nanoseconds(1), completion},
             .messages = 4,
             .bytes = Bytes(2'000'000),
             .bytes_wire = Bytes(1'500'000),
             .bytes_local = Bytes(500'000),
             .core_busy = {0.5}};
  end.counters.packets_tx = 1000;
  end.counters.messages_delivered = 4;
  end.counters.stalls = 3;
  end.counters.worst_stall = nanoseconds(20);
  return end;
}

inline void record_emulated(RunRecorder& recorder, const RunEnd& end, uint32_t ranks = 2) {
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = ranks, .seed = 7});
  RecordSink& sink = run.sink();
  sink.operations(sample_operations(50));
  run.end(end);
}

inline void record_reference(RunRecorder& recorder) {
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .seed = 7});
  RecordSink& sink = run.sink();
  sink.operations(sample_operations(30));
  RunEnd end = sample_end(microseconds(30));
  end.counters = {};
  run.end(end);
}

/// Both runs; `end` is the emulated one's, whose traffic may have more ranks than the traces.
inline void write_sample(const std::filesystem::path& folder, const RunEnd& end = sample_end(microseconds(50)),
                         uint32_t ranks = 2) {
  RunRecorder recorder(folder);
  begin_sample(recorder);
  record_emulated(recorder, end, ranks);
  record_reference(recorder);
}

inline std::string file_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// What the report makes of a sample.
class SampleReport {
 public:
  explicit SampleReport(const RunEnd& end = sample_end(microseconds(50))) { write_sample(folder_.path(), end); }

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::string csv(const std::string& file) const {
    write_report(folder(), {ReportFormat::kCsv});
    return file_text(folder() / file);
  }
  std::string page() const {
    write_report(folder(), {ReportFormat::kHtml});
    return file_text(folder() / "report.html");
  }
  nlohmann::ordered_json summary() const { return rankwire::summary(RunReader(folder())); }
  std::string table() const { return summary_table(RunReader(folder())); }

 private:
  TemporaryFolder folder_;
};

}  // namespace rankwire::testing
