// `trace synthesize`.
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "emulator/cli/trace_inputs.h"
#include "emulator/traces/likeness.h"
#include "emulator/traces/synthesize.h"
#include "emulator/traces/trace_learning.h"

namespace rankwire {
namespace {

TraceModel learn(const TraceInputs& inputs) {
  TraceLearner learner;
  for (const ReadSet& read : read_sets(inputs)) learner.add(read.set, read.matches);
  return learner.model();
}

/// What the model does not have in it.
std::vector<std::string> reservations(const TraceModel& model, const ModelFamily& family) {
  std::vector<std::string> notes;
  if (model.families.size() > 1) {
    notes.push_back(fmt::format("the sets have {} structures, this one is that of {}; --family takes another",
                                model.families.size(), family.sets));
  }
  for (const ModelProgram& program : family.programs) {
    const uint64_t nodes = step_nodes(program.steps), written = written_steps(program.steps);
    if (2 * written > nodes) {
      notes.push_back(fmt::format("rank {} and {} others have no repeating step: {} nodes are {} entries",
                                  program.ranks.front(), program.ranks.size() - 1, nodes, written));
    }
  }
  const auto is_timed = [](const ModelOperation& operation) {
    return operation.type != chakra::COMP_NODE || !operation.micros.empty() || operation.operations;
  };
  const auto untimed = std::ranges::count_if(family.operations, std::not_fn(is_timed));
  if (untimed > 0) notes.push_back(fmt::format("{} operations compute, but nothing says how long", untimed));
  return notes;
}

/// Of as many ranks as are asked for.
uint64_t nodes_to_make(const ModelFamily& family, uint32_t ranks) {
  uint64_t nodes = 0;
  for (const ModelProgram& program : family.programs) nodes += step_nodes(program.steps) * program.ranks.size();
  return nodes * ranks / family.ranks;
}

/// Where what people may have written says what cannot be, only all ranks together show it. Throws Error(kInput) with
/// the first thing that is wrong with the traces at --out.
void check_made(const TraceSynthesizeRequest& request) {
  TraceInputs inputs = request.inputs;
  inputs.paths = {request.out};
  inputs.groups = "";
  for (const CheckedSet& checked : read_and_check(inputs)) {
    for (const Finding& finding : checked.findings.list()) {
      if (finding.severity() != Severity::kError || is_of_recording(finding)) continue;
      fail_input("{}: families[{}] would make wrong traces: {}: {} ({}); right would be {}", request.model,
                 request.family, finding.file, finding.what, finding.symptom->code, finding.symptom->right);
    }
  }
}

/// Throws Error(kInput) when a file cannot be read to its end, for what it would be like is not known then.
std::vector<ReadSet> read_those(const TraceSynthesizeRequest& request, const std::vector<std::string>& paths) {
  if (paths.empty()) return {};
  TraceInputs inputs = request.inputs;
  inputs.paths = paths;
  std::vector<ReadSet> sets = read_sets(inputs);
  for (const ReadSet& read : sets) {
    for (const RankFacts& facts : read.set.ranks) {
      if (!facts.unreadable.empty()) fail_input("{}", facts.unreadable);
    }
  }
  return sets;
}

/// Of the set at --out to each of the others that has as many ranks: `against`, or those that were learned from.
std::vector<Likeness> likenesses(const TraceSynthesizeRequest& request, uint32_t ranks, std::vector<ReadSet> against) {
  if (request.against.empty()) against = read_those(request, request.inputs.paths);
  if (against.empty()) return {};
  TraceInputs inputs = request.inputs;
  TimingOptions options = timing_options(inputs, request.times);
  options.scheduled = true;  // what is made has no start times
  inputs.paths = {request.out};
  inputs.groups = "";
  const ReadSet made = read_one_set(inputs);
  const Inspection of_made = inspect(made.set, made.matches, options);
  std::vector<Likeness> list;
  for (const ReadSet& other : against) {
    if (other.set.ranks.size() != ranks) {
      if (!request.against.empty())
        log_warning(fmt::format("{} has {} ranks, not {}, and is not compared", other.set.files.name,
                                other.set.ranks.size(), ranks));
      continue;
    }
    list.push_back(likeness(made.set, of_made, other.set, inspect(other.set, other.matches, options)));
  }
  return list;
}

}  // namespace

int synthesize_traces(const TraceSynthesizeRequest& request) {
  const bool learns = !request.inputs.paths.empty();
  if (!learns && request.model.empty()) fail_input("name traces to learn from, or a model with --model");
  if (request.out.empty() && !(learns && !request.model.empty()))
    fail_input("--out names the traces to be made; with TRACES and --model alone the model is written");
  std::optional<OutputFolder> folder;
  std::vector<ReadSet> against;
  if (!request.out.empty()) {
    against = read_those(request, request.against);  // what cannot be read is told before anything is made
    folder.emplace(request.out);
  }
  const TraceModel model = learns ? learn(request.inputs) : read_model(request.model);
  if (learns && !request.model.empty()) write_model(model, request.model);
  if (request.family >= model.families.size())
    fail_input("--family {}: the model has {} families, counted from 0", request.family, model.families.size());
  const ModelFamily& family = model.families[request.family];
  const std::vector<std::string> notes = reservations(model, family);
  nlohmann::ordered_json json = {{"families", model.families.size()},      {"sets", family.sets},
                                 {"operations", family.operations.size()}, {"programs", family.programs.size()},
                                 {"roles", family.roles.size()},           {"notes", notes}};
  std::string text = fmt::format("learned: {} operations in {} programs of {} ranks\n", family.operations.size(),
                                 family.programs.size(), family.ranks);
  for (const std::string& note : notes) text += "note: " + note + "\n";
  if (!request.out.empty()) {
    SynthesisOptions options = {.ranks = request.ranks,
                                .role = request.role,
                                .same_work = request.scale_model == "strong",
                                .seed = request.seed,
                                .prefix = request.out};
    std::string large = request.ranks ? "--ranks" : "--out";
    if (!learns) {
      options.place = fmt::format("{}: families[{}].", request.model, request.family);
      options.check = [&request] { check_made(request); };
      if (!request.ranks) large = options.place + "programs: \"repeat\"";
    }
    check_made_nodes(large, nodes_to_make(family, request.ranks.value_or(family.ranks)), request.force);
    const SynthesizedSet made = synthesize(family, options);
    json.update({{"ranks", made.ranks}, {"nodes", made.nodes}, {"groups", made.groups}, {"prefix", request.out}});
    text += made_text(made.ranks, made.nodes, request.out, made.groups > 0);
    if (made.role) {
      json["role"] = *made.role;
      text += fmt::format("groups of role {} have grown or shrunk\n", *made.role);
    }
    json["likeness"] = nlohmann::ordered_json::array();
    const std::vector<Likeness> list = likenesses(request, made.ranks, std::move(against));
    if (!list.empty()) text += "\n" + likeness_header();
    for (const Likeness& likeness : list) {
      json["likeness"].push_back(to_json(likeness));
      text += to_text(likeness);
    }
  }
  if (request.inputs.form == OutputForm::kJson) {
    print_json(json);
  } else {
    fmt::print("{}", text);
  }
  return 0;
}

}  // namespace rankwire
