#include "emulator/traces/trace_model.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "base/json_problem.h"
#include "emulator/report/output_file.h"
#include "emulator/workload/node_reader.h"
#include "proto/chakra.pb.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kModelVersion = 1;
constexpr uint64_t kMostModelRanks = 1u << 20, kMostModelNodes = 1'000'000'000;
constexpr int kMostNesting = 32;
constexpr size_t kMostMicros = 21;

Json steps_json(const std::vector<ModelStep>& steps) {
  Json list = Json::array();
  for (const ModelStep& step : steps) {
    if (step.parts.empty() && step.repeat == 1) {
      list.push_back(step.operation);
    } else {
      list.push_back({{"repeat", step.repeat},
                      {"of", step.parts.empty() ? Json::array({step.operation}) : steps_json(step.parts)}});
    }
  }
  return list;
}

template <class Value>
void put(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json[key] = *value;
}

Json operation_json(const ModelOperation& operation) {
  Json json = {{"type", chakra::NodeType_Name(static_cast<chakra::NodeType>(operation.type))}};
  if (operation.on_cpu) json["on_cpu"] = true;
  put(json, "collective", operation.collective);
  put(json, "role", operation.role);
  put(json, "size", operation.size);
  put(json, "root", operation.root);
  put(json, "peer", operation.peer);
  if (operation.ahead != 0) json["ahead"] = operation.ahead;
  put(json, "tensor", operation.tensor);
  put(json, "operations", operation.operations);
  put(json, "stream", operation.stream);
  json["after"] = operation.after;
  json["micros"] = operation.micros;
  return json;
}

/// Reads the values of one object, whose place in the file errors name.
class ModelReader {
 public:
  /// Has `keys` alone: a misspelt one would say nothing.
  ModelReader(const Json& json, std::string place, std::initializer_list<std::string_view> keys)
      : json_(json), place_(std::move(place)) {
    if (!json.is_object()) fail("is no object");
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(keys, key) == keys.end())
        fail(fmt::format("key \"{}\" is unknown; the keys here are {}", key, fmt::join(keys, ", ")));
    }
  }
  template <class Value>
  Value get(const char* key) const {
    if (!json_.contains(key)) fail(fmt::format("has no \"{}\"", key));
    return convert<Value>(key);
  }
  template <class Value>
  std::optional<Value> find(const char* key) const {
    if (!json_.contains(key)) return std::nullopt;
    return convert<Value>(key);
  }
  const Json& list(const char* key) const {
    if (!json_.contains(key) || !json_[key].is_array()) fail(fmt::format("has no list \"{}\"", key));
    return json_[key];
  }
  std::string place(const char* key) const { return place_ + key; }
  std::string place(const char* key, size_t index) const { return fmt::format("{}[{}]", place(key), index); }
  [[noreturn]] void fail(const std::string& text) const {
    fail_input("{}: {}", place_.empty() ? "the model" : place_, text);
  }

 private:
  template <class Value>
  Value convert(const char* key) const {
    try {
      check_integers<Value>(key, json_[key]);
      return json_[key].get<Value>();
    } catch (const Json::exception&) {
      fail(fmt::format("\"{}\" is not what it must be", key));
    }
  }

  /// The value and those in lists of it.
  template <class Value>
  void check_integers(const char* key, const Json& value) const {
    if constexpr (requires { typename Value::value_type; } && !std::is_same_v<Value, std::string>) {
      if (!value.is_array()) fail(fmt::format("\"{}\" is {}, must be a list", key, value.dump()));
      for (const Json& item : value) check_integers<typename Value::value_type>(key, item);
    } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      check_integer<Value>(key, value);
    }
  }

  /// The library would cut off digits and the sign.
  template <class Value>
  void check_integer(const char* key, const Json& value) const {
    const bool fits = value.is_number_unsigned()
                          ? std::in_range<Value>(value.get<uint64_t>())
                          : value.is_number_integer() && std::in_range<Value>(value.get<int64_t>());
    if (!fits)
      fail(fmt::format("\"{}\" is {}, must be a whole number from {} to {}", key, value.dump(),
                       std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()));
  }

  const Json& json_;
  const std::string place_;
};

std::vector<ModelStep> read_steps(const Json& list, const std::string& place, size_t operations, int depth) {
  if (depth > kMostNesting) fail_input("{}: more than {} repetitions in each other", place, kMostNesting);
  std::vector<ModelStep> steps;
  for (size_t i = 0; i < list.size(); ++i) {
    ModelStep step;
    if (list[i].is_object()) {
      const ModelReader reader(list[i], fmt::format("{}[{}]", place, i), {"repeat", "of"});
      step.repeat = reader.get<uint32_t>("repeat");
      if (step.repeat == 0) reader.fail("\"repeat\" is 0, must be 1 or more");
      step.parts = read_steps(reader.list("of"), reader.place(".of"), operations, depth + 1);
      if (step.parts.empty()) reader.fail("\"of\" is empty");
    } else if (list[i].is_number_unsigned() && list[i].get<uint64_t>() < operations) {
      step.operation = list[i].get<uint32_t>();
    } else {
      fail_input("{}[{}]: is none of the {} operations", place, i, operations);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

/// What traces may have of it; `most` where they have a bound.
void check_amount(const ModelReader& reader, const char* key, const std::optional<int64_t>& amount, int64_t most) {
  if (amount && (*amount < 0 || *amount > most))
    reader.fail(fmt::format("\"{}\" is {}, must be 0 to {}", key, *amount, most));
}

/// What the type of the operation asks for.
void check_communication(const ModelReader& reader, const ModelOperation& operation, const ModelFamily& family) {
  if (operation.role && *operation.role >= family.roles.size()) reader.fail("\"role\" is none of the roles");
  if (operation.type == chakra::COMM_COLL_NODE) {
    const bool barrier = operation.collective == int64_t{chakra::BARRIER};
    // The kernel of one on the host may have kind and size.
    const bool launches = operation.on_cpu && !operation.collective;
    if (!operation.size && !launches && !barrier) reader.fail("a collective needs a \"size\"");
    if (operation.size && !operation.role) reader.fail("a collective needs a \"role\"");
    const int64_t kind = operation.collective.value_or(operation.size ? -1 : 0);
    if (kind < 0 || kind > INT32_MAX || !chakra::CollectiveCommType_IsValid(static_cast<int>(kind)))
      reader.fail("a collective needs a \"collective\", a number of Chakra's CollectiveCommType");
  }
  if (operation.type == chakra::COMM_SEND_NODE || operation.type == chakra::COMM_RECV_NODE) {
    if (!operation.peer || !operation.size) reader.fail("a message needs a \"peer\" and a \"size\"");
    if (operation.peer == 0) reader.fail("\"peer\" is 0, which is the rank itself");
  }
  check_amount(reader, "root", operation.root,
               operation.role ? static_cast<int64_t>(family.roles[*operation.role].members.front().size()) - 1 : 0);
  constexpr int64_t kMostTags = INT32_MAX / 2;
  if (operation.ahead != 0 && operation.type != chakra::COMM_RECV_NODE) reader.fail("\"ahead\" is of a RECV alone");
  if (operation.ahead < -kMostTags || operation.ahead > kMostTags)
    reader.fail(fmt::format("\"ahead\" is {}, must be -{} to {}", operation.ahead, kMostTags, kMostTags));
}

ModelOperation read_operation(const ModelReader& reader, const ModelFamily& family) {
  ModelOperation operation;
  const auto name = reader.find<std::string>("type");
  chakra::NodeType type;
  if (!chakra::NodeType_Parse(name.value_or(""), &type)) reader.fail("\"type\" is no type of Chakra's nodes");
  operation.type = type;
  operation.on_cpu = reader.find<bool>("on_cpu").value_or(false);
  operation.collective = reader.find<int64_t>("collective");
  operation.role = reader.find<uint32_t>("role");
  operation.size = reader.find<int64_t>("size");
  operation.root = reader.find<int64_t>("root");
  operation.peer = reader.find<int64_t>("peer");
  operation.ahead = reader.find<int64_t>("ahead").value_or(0);
  operation.tensor = reader.find<int64_t>("tensor");
  operation.operations = reader.find<int64_t>("operations");
  operation.stream = reader.find<int64_t>("stream");
  operation.after = reader.get<std::vector<int64_t>>("after");
  operation.micros = reader.get<std::vector<double>>("micros");
  check_communication(reader, operation, family);
  const auto is_time = [](double micros) { return micros >= 0 && micros < 1e12; };
  if (operation.micros.size() > kMostMicros)
    reader.fail(fmt::format("\"micros\" has {} values, the most is {}", operation.micros.size(), kMostMicros));
  if (!std::ranges::all_of(operation.micros, is_time)) reader.fail("\"micros\" are durations below 10^12");
  if (!std::ranges::is_sorted(operation.micros)) reader.fail("\"micros\" must ascend, from the least to the most");
  check_amount(reader, "size", operation.size, kMaxOperationBytes);
  check_amount(reader, "tensor", operation.tensor, kMaxOperationBytes);
  check_amount(reader, "operations", operation.operations, INT64_MAX);
  return operation;
}

/// Throws Error(kInput) where an operation of the program depends on what is not in it, or on itself.
void check_after(const ModelReader& family, const ModelProgram& program,
                 const std::vector<ModelOperation>& operations) {
  const StepPlaces places = places_of(program.steps, operations.size());
  const auto nodes = static_cast<int64_t>(step_nodes(program.steps));
  for (size_t i = 0; i < operations.size(); ++i) {
    if (places.first[i] < 0) continue;
    const int64_t before = places.first[i], behind = nodes - 1 - places.last[i];
    for (const int64_t back : operations[i].after) {
      const std::string place = family.place(".operations", i);
      if (back == 0) fail_input("{}: \"after\" has 0, which is the operation itself", place);
      if (back > before || back < -behind)
        fail_input("{}: \"after\" has {}, but only {} steps stand {} the operation in the program of rank {}", place,
                   back, back > 0 ? before : behind, back > 0 ? "before" : "behind", program.ranks.front());
    }
  }
}

/// What the learner never makes: a group unlike the others, a rank in two of them.
void check_members(const ModelReader& reader, const ModelRole& role, uint32_t ranks) {
  if (role.members.empty()) reader.fail("\"members\" is empty");
  std::vector<bool> has_group(ranks, false);
  for (const auto& members : role.members) {
    if (members.empty()) reader.fail("\"members\" has a group without ranks");
    for (const uint32_t rank : members) {
      if (rank >= ranks) reader.fail(fmt::format("rank {} is none of the {} ranks", rank, ranks));
      if (has_group[rank])
        reader.fail(fmt::format("\"members\" has rank {} twice; its other group needs a role", rank));
      has_group[rank] = true;
    }
    if (members.size() != role.members.front().size())
      reader.fail(fmt::format("\"members\" has groups of {} and of {} ranks; groups of one form are a role",
                              role.members.front().size(), members.size()));
  }
  if (!role.named && (role.members.size() > 1 || role.members.front().size() != ranks))
    reader.fail(fmt::format("\"named\" is false, which is for the one group of all {} ranks", ranks));
}

ModelFamily read_family(const ModelReader& reader) {
  ModelFamily family{.ranks = reader.get<uint32_t>("ranks"), .sets = reader.get<uint32_t>("sets")};
  if (family.ranks == 0 || family.ranks > kMostModelRanks) reader.fail("\"ranks\" are 1 to 1048576");
  const Json& roles = reader.list("roles");
  for (size_t i = 0; i < roles.size(); ++i) {
    const ModelReader at(roles[i], reader.place(".roles", i), {"named", "members"});
    ModelRole role{.named = at.get<bool>("named"), .members = at.get<std::vector<std::vector<uint32_t>>>("members")};
    check_members(at, role, family.ranks);
    family.roles.push_back(std::move(role));
  }
  const Json& operations = reader.list("operations");
  for (size_t i = 0; i < operations.size(); ++i) {
    const ModelReader at(operations[i], reader.place(".operations", i),
                         {"type", "on_cpu", "collective", "role", "size", "root", "peer", "ahead", "tensor",
                          "operations", "stream", "after", "micros"});
    family.operations.push_back(read_operation(at, family));
  }
  const Json& programs = reader.list("programs");
  std::vector<bool> has_program(family.ranks, false);
  for (size_t i = 0; i < programs.size(); ++i) {
    const ModelReader at(programs[i], reader.place(".programs", i), {"ranks", "steps"});
    ModelProgram program{.ranks = at.get<std::vector<uint32_t>>("ranks")};
    if (program.ranks.empty()) at.fail("\"ranks\" is empty");
    for (const uint32_t rank : program.ranks) {
      if (rank >= family.ranks) at.fail(fmt::format("rank {} is none of the {} ranks", rank, family.ranks));
      if (has_program[rank]) at.fail(fmt::format("rank {} has two programs", rank));
      has_program[rank] = true;
    }
    program.steps = read_steps(at.list("steps"), at.place(".steps"), family.operations.size(), 0);
    if (step_nodes(program.steps) > kMostModelNodes) at.fail("has more than 10^9 nodes");
    if (program.steps.empty()) at.fail("\"steps\" is empty");
    check_after(reader, program, family.operations);
    family.programs.push_back(std::move(program));
  }
  for (uint32_t rank = 0; rank < family.ranks; ++rank) {
    if (!has_program[rank]) reader.fail(fmt::format("rank {} has no program", rank));
  }
  return family;
}

}  // namespace

void write_model(const TraceModel& model, const std::string& file) {
  Json families = Json::array();
  for (const ModelFamily& family : model.families) {
    Json roles = Json::array(), operations = Json::array(), programs = Json::array();
    for (const ModelRole& role : family.roles) roles.push_back({{"named", role.named}, {"members", role.members}});
    for (const ModelOperation& operation : family.operations) operations.push_back(operation_json(operation));
    for (const ModelProgram& program : family.programs)
      programs.push_back({{"ranks", program.ranks}, {"steps", steps_json(program.steps)}});
    families.push_back({{"ranks", family.ranks},
                        {"sets", family.sets},
                        {"roles", roles},
                        {"operations", operations},
                        {"programs", programs}});
  }
  // A line an operation, a role and a program: what people change.
  std::string text = fmt::format("{{\"rankwire_trace_model\": {}, \"families\": [\n", kModelVersion);
  for (size_t f = 0; f < families.size(); ++f) {
    text += fmt::format("{}{{\"ranks\": {}, \"sets\": {}", f == 0 ? "" : ",\n", families[f]["ranks"].dump(),
                        families[f]["sets"].dump());
    for (const char* key : {"roles", "operations", "programs"}) {
      text += fmt::format(",\n \"{}\": [", key);
      const Json& list = families[f][key];
      for (size_t i = 0; i < list.size(); ++i) text += fmt::format("{}\n  {}", i == 0 ? "" : ",", list[i].dump());
      text += "]";
    }
    text += "}";
  }
  write_file(file, text + "\n]}\n");
}

TraceModel read_model(const std::string& file) {
  std::ifstream stream = open_input(file, "a model of traces");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const Json json = parse_json(text, file, "is no model of traces");
  try {
    const ModelReader reader(json, "", {"rankwire_trace_model", "families"});
    if (reader.get<int>("rankwire_trace_model") != kModelVersion)
      reader.fail(fmt::format("\"rankwire_trace_model\" is not {}", kModelVersion));
    const Json& families = reader.list("families");
    TraceModel model;
    for (size_t i = 0; i < families.size(); ++i)
      model.families.push_back(read_family(
          {families[i], reader.place("families", i), {"ranks", "sets", "roles", "operations", "programs"}}));
    if (model.families.empty()) reader.fail("has no families");
    return model;
  } catch (const std::exception& error) {
    fail_input("{}: {}", file, error.what());
  }
}

}  // namespace rankwire
