#include "emulator/traces/finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr Symptom kSymptoms[] = {
    {"unreadable", Severity::kError, "nothing behind this place can be read",
     "a Chakra trace (.et, or its JSON forms); a PyTorch, Kineto or text file must be converted first"},
    {"truncated", Severity::kError, "the nodes behind the end are lost, and nodes may depend on them",
     "copy or record the file again; --repair keeps the nodes before the end"},
    {"no-nodes", Severity::kError, "the rank does nothing", "a trace with at least one node"},
    {"two-files", Severity::kError, "which of them is the rank's trace is not clear", "one file a rank"},
    {"bad-value", Severity::kError, "the value cannot be used", "the type and range that docs/traces.md names"},
    {"duplicate-id", Severity::kError, "dependencies on the id are ambiguous",
     "ids that are unique in the file; --repair drops equal nodes and renumbers others"},
    {"cycle", Severity::kError, "none of these nodes can ever start",
     "dependencies without a way back; --repair drops the dependency that reaches furthest ahead in the file"},
    {"dangling-dependency", Severity::kError, "the node waits for one that the file does not have",
     "a dependency on a node of the same file; --repair drops it"},
    {"self-dependency", Severity::kWarning, "rankwire drops it; other tools let the node wait for itself for ever",
     "no such dependency; --repair drops it"},
    {"duplicate-dependency", Severity::kWarning,
     "rankwire counts it once; Chakra's first feeder never releases the node",
     "each dependency once; --repair drops the others"},
    {"missing-size", Severity::kError, "how much is sent is not known", "an attribute comm_size in bytes"},
    {"absurd-size", Severity::kError, "no operation moves so much, or less than nothing",
     "a comm_size of 0 to 2^50 bytes; --repair --absurd drop leaves the operation out"},
    {"unknown-collective", Severity::kError, "the operation cannot be carried out",
     "a comm_type of 0 to 9, Chakra's CollectiveCommType"},
    {"bad-peer", Severity::kError, "where the message goes to, or comes from, is not known or impossible",
     "comm_dst of a SEND and comm_src of a RECV that name another rank of the run"},
    {"absurd-duration", Severity::kError, "time is counted in picoseconds of 64 bits and would overflow",
     "a duration in microseconds; --repair --absurd drop makes it 0"},
    {"double-counted", Severity::kError, "a host operation and the kernel that it launches both carry the traffic",
     "communication on the kernel alone; --repair makes the host operation compute"},
    {"kernels-without-successors", Severity::kError,
     "kernels have lost the order of their streams (mlcommons/chakra issue 215): all run at once as soon as the host "
     "has "
     "launched them",
     "a dependency on the kernel before it in the stream; --repair restores them"},
    {"collective-before-inputs", Severity::kError,
     "the collective starts before the kernels launched before it, which make what it sends",
     "a dependency on the last of them; --repair adds it"},
    {"absent-rank", Severity::kError, "operations with this rank cannot be carried out",
     "its trace beside the others; for ranks that did the same, rankwire trace scale --replicate makes a set"},
    {"unknown-group", Severity::kError, "who takes part is not known",
     "the group in the process-group file (--groups), or in METADATA of the trace"},
    {"not-a-member", Severity::kError, "the rank calls a group that it is not in",
     "the rank among the group's members"},
    {"absent-member", Severity::kError, "the other members wait for ever", "the same number of calls at all members"},
    {"collective-order", Severity::kError, "members meet in different collectives: they hang or mix their data",
     "one order of a group's collectives at all members"},
    {"collective-kind", Severity::kError, "members disagree about what they do together",
     "the same comm_type and root at all members"},
    {"collective-size", Severity::kError, "members disagree about how much they exchange",
     "the same comm_size at all members"},
    {"unmatched-send", Severity::kError, "nobody takes the message",
     "a RECV at the destination with source and tag; --repair --unmatched drop or complete decides"},
    {"unmatched-receive", Severity::kError, "the message never comes",
     "a SEND at the source with destination and tag; --repair --unmatched drop or complete decides"},
    {"message-size", Severity::kError, "both ends disagree about the message", "the same comm_size at both ends"},
    {"deadlock", Severity::kError, "the ranks wait for each other", "an order in which all ranks can go on"},
    {"element-counts", Severity::kWarning, "sizes count elements, so bytes are understated",
     "sizes in bytes: workload.element_size in the configuration, or --repair with --element-size"},
    {"zero-size", Severity::kWarning, "nothing is sent", "a size, or no node"},
    {"zero-duration", Severity::kWarning, "all compute nodes of the file take no time and state no operations",
     "durations in microseconds, or num_ops for the roofline"},
    {"huge-duration", Severity::kWarning, "an operation takes an hour and more: its unit may be nanoseconds",
     "a duration in microseconds"},
    {"starts-before-dependency", Severity::kWarning, "recorded times contradict the dependencies",
     "a start that is not before the end of what the node depends on"},
    {"clock-skew", Severity::kWarning, "times of different ranks cannot be compared",
     "clocks that agree to less than a collective's duration; --repair shifts the start times"},
    {"forward-dependency", Severity::kNote, "a reader of part of the file must hold nodes back",
     "nodes behind what they depend on"},
    {"file-order", Severity::kNote, "the order of the files cannot be run, so groups follow their dependencies",
     "nodes of a group in an order that can be run"},
    {"dangling-control", Severity::kNote, "call-stack parents that are not in the file; they carry no order here",
     "nothing to do; --repair drops them"},
    {"self-control", Severity::kNote, "call-stack parents of themselves; they carry no order here",
     "nothing to do; --repair drops them"},
    {"control-cycle", Severity::kNote, "who obeys control dependencies too waits for ever",
     "workload.dependencies auto or data, which obey data dependencies alone"},
    {"repeated-tag", Severity::kNote, "messages with one tag are told apart by their order alone",
     "a tag for each message between two ranks; --repair numbers them"},
    {"host-duplicate", Severity::kNote, "communication on the host without a size: the kernel carries the traffic",
     "nothing to do"},
    {"unknown-type", Severity::kNote, "nodes of a type that Chakra does not have take no time", "nothing to do"},
};

/// Behind the text that comes first on the line.
std::string numbered(std::span<const uint64_t> nodes, uint64_t count) {
  if (nodes.empty()) return "";
  const std::string more = count > nodes.size() ? fmt::format(" and {} more", count - nodes.size()) : "";
  return fmt::format(", {} {}{}", count == 1 ? "node" : "nodes", fmt::join(nodes, " "), more);
}

/// ", of ranks 1, 2, 3".
std::string other_ranks(const std::vector<Finding>& findings, const Finding& first) {
  constexpr size_t kShown = 16;
  std::vector<uint32_t> ranks;
  for (const Finding& finding : findings) {
    if (finding.symptom == first.symptom && &finding != &first && finding.rank) ranks.push_back(*finding.rank);
  }
  if (ranks.empty()) return "";
  const std::string more = ranks.size() > kShown ? fmt::format(" and {} more", ranks.size() - kShown) : "";
  ranks.resize(std::min(ranks.size(), kShown));
  return fmt::format(", of {} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "), more);
}

}  // namespace

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "unknown";
}

std::span<const Symptom> symptoms() {
  return kSymptoms;
}

const Symptom& symptom(const char* code) {
  const auto found = std::ranges::find(kSymptoms, std::string_view(code), &Symptom::code);
  if (found == std::end(kSymptoms)) fail_run("no finding is called {}", code);
  return *found;
}

void Findings::add(const char* code, const std::string& file, std::optional<uint32_t> rank,
                   std::optional<uint64_t> node, const std::string& what) {
  const Symptom* kind = &symptom(code);
  // The latest of the file are the last of the list.
  const auto same = std::find_if(list_.rbegin(), list_.rend(),
                                 [&](const Finding& other) { return other.symptom == kind && other.file == file; });
  Finding& finding = same != list_.rend() ? *same : list_.emplace_back();
  if (finding.count == 0) {
    finding.symptom = kind;
    finding.file = file;
    finding.rank = rank;
    finding.what = what;
  }
  ++finding.count;
  if (node && finding.nodes.size() < Finding::kMostNodes) finding.nodes.push_back(*node);
}

uint64_t Findings::count(Severity severity) const {
  return static_cast<uint64_t>(std::ranges::count(list_, severity, &Finding::severity));
}

bool Findings::has(const char* code) const {
  const Symptom* kind = &symptom(code);
  return std::ranges::any_of(list_, [&](const Finding& finding) { return finding.symptom == kind; });
}

void Findings::sort() {
  std::ranges::stable_sort(list_, {}, &Finding::severity);
}

nlohmann::ordered_json to_json(const Finding& finding) {
  nlohmann::ordered_json json = {{"code", finding.symptom->code},  {"severity", to_string(finding.severity())},
                                 {"file", finding.file},           {"rank", nullptr},
                                 {"nodes", finding.nodes},         {"count", finding.count},
                                 {"what", finding.what},           {"meaning", finding.symptom->meaning},
                                 {"right", finding.symptom->right}};
  if (finding.rank) json["rank"] = *finding.rank;
  return json;
}

std::string to_text(const std::vector<Finding>& findings, bool notes) {
  std::string text;
  std::set<const Symptom*> told;
  for (const Finding& first : findings) {
    if (first.severity() == Severity::kNote && !notes) continue;
    if (!told.insert(first.symptom).second) continue;
    const std::string rank = first.rank ? fmt::format(" (rank {})", *first.rank) : "";
    text += fmt::format("{}: {}: {}{}{}\n    {}\n", to_string(first.severity()), first.symptom->code, first.file, rank,
                        numbered(first.nodes, first.count), first.what);
    const auto files = std::ranges::count(findings, first.symptom, &Finding::symptom);
    if (files > 1) text += fmt::format("    and in {} more files{}\n", files - 1, other_ranks(findings, first));
    text += fmt::format("    means: {}\n    right: {}\n", first.symptom->meaning, first.symptom->right);
  }
  return text;
}

}  // namespace rankwire
