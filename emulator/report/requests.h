// How long requests to an inference service took, from what nodes say about them (emulator/workload/request_marks.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// One request in one run, as far as it came.
struct RequestTimes {
  Time arrival;
  std::optional<Time> first_token, last_token;
  uint64_t tokens = 0;
  bool is_complete = false;  ///< all of its tokens are known

  /// From arrival to the first token.
  std::optional<Duration> ttft() const;
  /// From the first token to the last, for each behind the first; absent where there is none, or before they are all
  /// known.
  std::optional<Duration> tpot() const;
  /// From arrival to the last token; absent before they are all known.
  std::optional<Duration> latency() const;
  /// Whether a complete request keeps all objectives; of one token there is no tpot to keep.
  bool keeps(const ServiceObjectives& objectives) const;
};

/// Quantiles by nearest rank, which are times that occurred.
struct RequestQuantiles {
  Duration mean, p50, p90, p95, p99, max;
};

/// Of all requests in one run.
struct RequestFigures {
  uint64_t requests = 0, complete = 0, tokens = 0;
  std::optional<uint64_t> within;  ///< complete ones that keep all objectives; absent without objectives
  Duration span;                   ///< from the first arrival to the last token
  std::optional<RequestQuantiles> ttft, tpot, latency;

  std::optional<double> attainment() const;  ///< within / requests
  /// A second of the span; absent where it has no length.
  std::optional<double> rate(std::optional<uint64_t> count) const;
};

/// The runs of a record side by side.
struct RequestTable {
  struct Side {
    const char* key = "";       ///< "emulated", "reference", or "twin" where that is neither
    const char* fidelity = "";  ///< of the run: a twin may be the emulated side
    RequestFigures figures;
  };
  struct Row {
    RequestInfo info;
    uint32_t iteration = 0;
    std::vector<std::optional<RequestTimes>> times;  ///< by side
  };

  ServiceObjectives objectives;
  std::vector<Side> sides;  ///< that ended, or got as far as a request
  std::vector<Row> rows;    ///< by job, iteration and number
};

/// Requests whose turn came while memory for keys and values was full, and batches that began without them.
struct HeldFigures {
  uint64_t requests = 0, batches = 0;
};
/// As the trace has it, whatever became of it in a run; absent where the trace says nothing of it.
std::optional<HeldFigures> held_requests(const RequestTable& table);

/// Without rows where nodes say nothing of requests.
RequestTable read_requests(const RunReader& record);
/// Of one run; absent as above.
std::optional<RequestFigures> request_figures(const RunReader& record, const RecordedRun& run);

/// "ttft" and so on, what people call it, and where it is.
struct RequestQuantity {
  const char *name, *title;
  std::optional<RequestQuantiles> RequestFigures::*quantiles;
  std::optional<Duration> (RequestTimes::*of)() const;
  std::optional<Duration> ServiceObjectives::*objective;
};
const std::vector<RequestQuantity>& request_quantities();

/// `requests` of summary.json; null without rows.
nlohmann::ordered_json requests_json(const RequestTable& table);
/// One side of it; null where there is none.
nlohmann::ordered_json request_figures_json(const std::optional<RequestFigures>& figures);
/// Lines of the printed summary, and the section of the page. Empty without rows.
std::string requests_text(const RequestTable& table);
std::string html_requests(const RequestTable& table);
/// `requests.csv`.
std::string requests_csv(const RequestTable& table);

}  // namespace rankwire
