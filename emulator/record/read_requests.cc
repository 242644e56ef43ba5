// Reads what a record has of requests to an inference service.
#include "emulator/record/columns.h"
#include "emulator/record/reader.h"

namespace rankwire {

ServiceObjectives RunReader::objectives() const {
  ServiceObjectives objectives;
  if (!has_table("objectives")) return objectives;
  Statement rows = database_.prepare("SELECT name, limit_ps FROM objectives");
  while (rows.step()) {
    const std::string name = rows.text(0);
    (name == "ttft" ? objectives.ttft : name == "tpot" ? objectives.tpot : objectives.latency) = duration(rows, 1);
  }
  return objectives;
}

std::vector<RequestInfo> RunReader::requests() const {
  std::vector<RequestInfo> requests;
  if (!has_table("request_marks")) return requests;
  // Records of earlier versions have no such table.
  const std::string held =
      has_table("request_holds")
          ? "(SELECT batches FROM request_holds AS h WHERE h.job = m.job AND h.request = m.request)"
          : "NULL";
  Statement rows = database_.prepare("SELECT job, request, sum(1 - arrives), max(input_tokens), " + held +
                                     " FROM request_marks AS m GROUP BY job, request ORDER BY job, request");
  while (rows.step()) {
    requests.push_back({.job = JobId(small(rows, 0)),
                        .request = rows.integer(1),
                        .output_tokens = count(rows, 2),
                        .input_tokens = rows.optional_integer(3),
                        .held_batches = rows.optional_integer(4)});
  }
  return requests;
}

void RunReader::for_each_request_event(const RecordedRun& run,
                                       const std::function<void(const RequestEvent&)>& visit) const {
  if (!has_table("request_marks")) return;
  // `operations` has no index, so it is read through, and each row looked up.
  Statement rows = database_.prepare(
      "SELECT m.rank, m.node, m.request, m.arrives, m.job, m.input_tokens, o.iteration, o.end_ps FROM operations AS o "
      "CROSS JOIN request_marks AS m ON m.rank = o.rank AND m.node = o.node WHERE o.run=?");
  rows.bind(run.run);
  while (rows.step()) {
    visit({.mark = {.rank = RankId(small(rows, 0)),
                    .node = small(rows, 1),
                    .request = rows.integer(2),
                    .arrives = rows.integer(3) != 0,
                    .job = JobId(small(rows, 4)),
                    .input_tokens = rows.optional_integer(5),
                    .held_batches = {}},
           .iteration = small(rows, 6),
           .at = Time(rows.integer(7))});
  }
}

}  // namespace rankwire
