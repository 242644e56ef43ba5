// Checks of small sets of traces, and what they find.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "emulator/traces/check.h"
#include "tests/workload/trace_set.h"

namespace rankwire::testing {

inline CheckedSet check(const std::vector<std::string>& inputs, const CheckOptions& options = {},
                        const std::string& groups = "") {
  const std::vector<TraceFileSet> sets = find_trace_sets(inputs, groups);
  if (sets.size() != 1) fail_input("{} sets", sets.size());
  std::atomic<uint64_t> done = 0;
  return check_set(sets.front(), options, done);
}

inline CheckedSet check(const TraceSet& set, const CheckOptions& options = {}) {
  return check(set.options.traces, options, set.options.groups_file);
}

/// A node with a recorded start and duration, in microseconds.
inline chakra::Node recorded(Make node, uint64_t start, uint64_t micros) {
  chakra::Node message = node.micros(micros);
  message.set_start_time_micros(start);
  return message;
}

/// "code rank nodes": what a finding is about, such as "cycle 0: 3".
inline std::string summary(const Finding& finding) {
  std::string text = finding.symptom->code;
  if (finding.rank) text += " " + std::to_string(*finding.rank);
  if (!finding.nodes.empty()) text += ":";
  for (const uint64_t id : finding.nodes) text += " " + std::to_string(id);
  return text;
}

inline std::vector<std::string> summaries(const CheckedSet& checked) {
  std::vector<std::string> list;
  for (const Finding& finding : checked.findings.list()) list.push_back(summary(finding));
  return list;
}

}  // namespace rankwire::testing
