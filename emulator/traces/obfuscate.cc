#include "emulator/traces/obfuscate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/sort_unique.h"
#include "emulator/traces/groups_file.h"
#include "emulator/traces/new_set.h"
#include "emulator/traces/pseudonyms.h"
#include "emulator/workload/node_reader.h"
#include "emulator/workload/process_groups.h"
#include "proto/attribute_copy.h"
#include "proto/attributes.h"
#include "proto/byte_stream.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTag = "comm_tag";
constexpr const char* kSplitSizes = "comm_splits";

/// Attributes whose value may stay: numbers that rankwire or another simulator of Chakra obeys.
const std::set<std::string, std::less<>> kHarmless = {"comm_type", "comm_src",   "comm_dst",     "comm_priority",
                                                      "root",      "tensor_loc", "involved_dim", "is_cpu_op"};
/// What is made coarse, and of what it is the amount where the kind of the node does not say it.
const std::map<std::string, AmountClass, std::less<>> kAmounts = {
    {"comm_size", kMessageAmount}, {"tensor_size", kTensorAmount}, {"num_ops", kOperationsAmount}};

/// A number or truth values: no text of the producer's.
bool is_plain(const TraceAttribute& attribute) {
  using Form = TraceAttribute::Form;
  const bool truths = attribute.form == Form::kList && attribute.bits == chakra::AttributeProto::kBoolListFieldNumber;
  return truths || (attribute.form != Form::kList && attribute.form != Form::kText);
}

bool is_lane(std::string_view attribute) {
  return attribute == "stream" || attribute == "tid";
}

/// A metadata node as `process_groups` takes them.
bool names_groups(const TraceNode& node) {
  return node.type == chakra::METADATA_NODE && node.inputs.values.find("pg_name") != std::string_view::npos;
}

/// Groups that mean all ranks unless someone defines them.
bool is_everyone(std::string_view group) {
  return group.empty() || group == "0";
}

uint8_t amount_class(std::string_view attribute, const TraceNode& node) {
  const uint8_t stated = kAmounts.find(attribute)->second;
  if (stated != kMessageAmount || node.type != chakra::COMM_COLL_NODE) return stated;
  return static_cast<uint8_t>(std::clamp<int64_t>(integer_attribute(node, "comm_type").value_or(0), 0, 9));
}

/// The places of sorted values.
int64_t place_of(const std::vector<int64_t>& sorted, int64_t value) {
  return std::ranges::lower_bound(sorted, value) - sorted.begin();
}

/// What of one file gets small numbers in the order of the originals.
struct FileNumbers {
  std::vector<uint64_t> ids;  ///< also those that only dependencies name
  std::vector<int64_t> lanes;

  explicit FileNumbers(const std::string& path) {
    TraceReader reader(path);
    for (TraceNode node; reader.next(node);) {
      ids.push_back(node.id);
      ids.insert(ids.end(), node.data_deps.begin(), node.data_deps.end());
      ids.insert(ids.end(), node.control_deps.begin(), node.control_deps.end());
      for (const TraceAttribute& attribute : node.attributes) {
        if (!is_lane(attribute.name) || !is_plain(attribute)) continue;
        if (const auto lane = integer_attribute(node, attribute.name)) lanes.push_back(*lane);
      }
      if (ids.size() > 2 * settled_ + kBatch) settle();
    }
    settle();
  }
  uint64_t id(uint64_t original) const {
    return static_cast<uint64_t>(std::ranges::lower_bound(ids, original) - ids.begin());
  }

 private:
  static constexpr size_t kBatch = 65536;

  /// Most ids come again as dependencies.
  void settle() {
    sort_unique(ids);
    sort_unique(lanes);
    settled_ = ids.size();
  }
  size_t settled_ = 0;
};

/// The file of what stands for what. It is made before the copies, which are of no use to who asked for it without it,
/// and removed unless it is written.
class MappingFile {
 public:
  /// Readable by its owner alone: who has it can undo the copy. Throws Error(kInput) when it exists, and Error(kRun)
  /// when it cannot be made.
  explicit MappingFile(const std::string& path) : path_(path) {
    std::error_code ignored;
    fs::create_directories(fs::path(path).parent_path(), ignored);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) fail_input("--mapping: {} exists already and is not overwritten", path);
    if (file < 0) fail_run("{}: cannot be made: {}", path, system_error(errno));
    ::close(file);
  }
  ~MappingFile() {
    std::error_code ignored;
    if (!is_written_) fs::remove(path_, ignored);
  }
  MappingFile(const MappingFile&) = delete;
  MappingFile& operator=(const MappingFile&) = delete;

  void write(const std::string& text) {
    std::ofstream stream(path_);
    stream << text << "\n";
    stream.close();
    if (!stream) fail_run("{}: cannot be written", path_);
    is_written_ = true;
  }

 private:
  const std::string path_;
  bool is_written_ = false;
};

class Obfuscation {
 public:
  Obfuscation(const TraceFileSet& files, const ObfuscateOptions& options, std::atomic<uint64_t>& done)
      : files_(files),
        options_(options),
        done_(done),
        pseudonyms_(options.key),
        // Between a half and two; its logarithm is uniform.
        amounts_(options.sizes, std::exp2(2 * pseudonyms_.fraction("sizes") - 1)) {}

  ObfuscatedSet write() {
    std::optional<MappingFile> mapping;
    if (!options_.mapping.empty()) mapping.emplace(options_.mapping);
    survey();
    for (const TraceFile& file : files_.files) {
      write_rank(file);
      ++done_;
    }
    if (result_.nodes == 0) fail_input("{}: has no nodes", files_.name);
    if (!defined_.empty()) write_groups_file(made_.add(options_.prefix + ".json"), renamed_groups());
    if (mapping) mapping->write(mapping_text());
    made_.keep();
    result_.groups = group_names_.size();
    return std::move(result_);
  }

 private:
  void survey() {
    if (!files_.groups.empty()) defined_ = read_groups_file(files_.groups);
    for (const GroupDefinition& group : defined_) group_names_.insert(group.name);
    for (const TraceFile& file : files_.files) {
      TraceReader reader(file.path);
      for (TraceNode node; reader.next(node);) survey(node);
      ++done_;
    }
    tags_.push_back(0);  // what messages without a tag have
    std::erase_if(group_names_, is_everyone);
    sort_unique(tags_);
    amounts_.settle();
  }

  void survey(const TraceNode& node) {
    if (node.start > 0) first_start_ = std::min(first_start_, micros(node.start, node.unit));
    if (is_communication(node.type)) group_names_.insert(group_name(node));
    if (names_groups(node)) {
      for (const GroupDefinition& group : parse_process_groups(std::string(node.inputs.values)))
        group_names_.insert(group.name);
    }
    if (const auto tag = integer_attribute(node, kTag)) tags_.push_back(*tag);
    if (tags_.size() > 65536) sort_unique(tags_);
    for (const auto& [name, unused] : kAmounts) {
      if (const auto amount = integer_attribute(node, name)) amounts_.survey(amount_class(name, node), *amount);
    }
    for (const int64_t size : splits(node)) amounts_.survey(kSplitAmount, size);
  }

  static std::vector<int64_t> splits(const TraceNode& node) {
    return count_list_attribute(node, kSplitSizes).value_or(std::vector<int64_t>());
  }

  static uint64_t micros(uint64_t count, Duration unit) {
    return unit == nanoseconds(1) ? count / 1000 + (count % 1000 != 0) : count;
  }

  /// A number, as some consumers read groups; all have the same number of digits, so that their order as texts is that
  /// of the names.
  std::string group_text(const std::string& name) const {
    if (is_everyone(name)) return name;
    size_t first = 10;
    while (first < group_names_.size()) first *= 10;
    return std::to_string(first + static_cast<size_t>(std::distance(group_names_.begin(), group_names_.find(name))));
  }

  std::vector<Group> renamed_groups() const {
    std::vector<Group> groups;
    for (const GroupDefinition& definition : defined_) {
      Group group{.name = group_text(definition.name)};
      for (const int64_t rank : definition.ranks) group.members.push_back(RankId(static_cast<uint32_t>(rank)));
      groups.push_back(std::move(group));
    }
    return groups;
  }

  void write_rank(const TraceFile& file) {
    const FileNumbers numbers(file.path);
    TraceReader reader(file.path);
    TraceWriter writer(made_.add(fmt::format("{}.{}.et", options_.prefix, file.rank)));
    chakra::GlobalMetadata metadata;
    metadata.set_version("1.0.0");
    writer.write(metadata);
    for (TraceNode node; reader.next(node);) {
      const chakra::Node copy = copy_of(node, numbers);
      writer.write(copy);
      result_.exposure.add(copy);
      ++result_.nodes;
    }
    writer.close();
  }

  chakra::Node copy_of(const TraceNode& in, const FileNumbers& numbers) {
    chakra::Node out;
    out.set_id(numbers.id(in.id));
    out.set_name(pseudonyms_.of("n", in.name));
    if (!options_.mapping.empty()) names_.try_emplace(out.name(), in.name);
    out.set_type(static_cast<chakra::NodeType>(in.type));
    for (const uint64_t id : in.data_deps) out.add_data_deps(numbers.id(id));
    for (const uint64_t id : in.control_deps) out.add_ctrl_deps(numbers.id(id));
    out.set_duration_micros(coarse_duration(options_.times, micros(in.duration, in.unit)));
    if (options_.times == Coarseness::kKeep && in.start > 0)
      out.set_start_time_micros(micros(in.start, in.unit) - first_start_ + 1);
    if (names_groups(in)) out.mutable_inputs()->set_values(groups_of(in));
    if (in.type == chakra::COMP_NODE) {
      if (const DataType type = data_type_of(in); type != DataType::kUnknown) add(out, "dtype", to_string(type));
    }
    for (const TraceAttribute& attribute : in.attributes) {
      if (attribute.name != "dtype" && !copy_known(in, attribute, numbers, out))
        ++result_.dropped[std::string(attribute.name)];
    }
    return out;
  }

  /// False when the attribute is not to be in the copy.
  bool copy_known(const TraceNode& in, const TraceAttribute& attribute, const FileNumbers& numbers, chakra::Node& out) {
    const std::string_view name = attribute.name;
    if (options_.allowed.contains(std::string(name)) || (kHarmless.contains(name) && is_plain(attribute))) {
      copy_attribute(attribute, *out.add_attr());
    } else if (name == "pg_name" || name == "comm_group") {
      add(out, name, group_text(string_attribute(in, name).value_or("")));
    } else if (name == kTag) {
      add(out, name, place_of(tags_, integer_attribute(in, name).value_or(0)) - place_of(tags_, 0));
    } else if (name == kSplitSizes) {
      auto& list = *add(out, name).mutable_int64_list()->mutable_values();
      for (const int64_t size : splits(in)) list.Add(amounts_.of(kSplitAmount, size));
    } else if (is_lane(name) && is_plain(attribute)) {
      add(out, name, place_of(numbers.lanes, integer_attribute(in, name).value_or(0)));
    } else if (kAmounts.contains(name)) {
      add(out, name, amount_of(in, name));
    } else {
      return false;
    }
    return true;
  }

  /// Splits are the parts of an operation's size, but for an all-gather's, of which it is one.
  int64_t amount_of(const TraceNode& in, std::string_view name) const {
    const int64_t original = integer_attribute(in, name).value_or(0);
    const std::vector<int64_t> parts = name == "comm_size" ? splits(in) : std::vector<int64_t>();
    if (parts.empty()) return amounts_.of(amount_class(name, in), original);
    const auto kind = static_cast<CollectiveKind>(integer_attribute(in, "comm_type").value_or(0));
    if (kind == CollectiveKind::kAllGather) return amounts_.of(kSplitAmount, original);
    int64_t sum = 0;
    for (const int64_t part : parts) sum += amounts_.of(kSplitAmount, part);
    return sum;
  }

  std::string groups_of(const TraceNode& in) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const GroupDefinition& group : parse_process_groups(std::string(in.inputs.values))) {
      list.push_back({{"pg_name", group_text(group.name)}, {"ranks", group.ranks}});
      if (group.size > 0) list.back()["group_size"] = group.size;
    }
    return list.dump();
  }

  static chakra::AttributeProto& add(chakra::Node& node, std::string_view name) {
    chakra::AttributeProto& attribute = *node.add_attr();
    attribute.set_name(std::string(name));
    return attribute;
  }
  static void add(chakra::Node& node, std::string_view name, int64_t value) { add(node, name).set_int64_val(value); }
  static void add(chakra::Node& node, std::string_view name, const std::string& value) {
    add(node, name).set_string_val(value);
  }

  std::string mapping_text() const {
    nlohmann::ordered_json groups = nlohmann::ordered_json::object(), tags = nlohmann::ordered_json::object();
    for (const std::string& name : group_names_) groups[group_text(name)] = name;
    for (const int64_t tag : tags_) tags[std::to_string(place_of(tags_, tag) - place_of(tags_, 0))] = tag;
    return nlohmann::ordered_json{{"names", names_}, {"groups", groups}, {"tags", tags}}.dump(
        1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  const TraceFileSet& files_;
  const ObfuscateOptions& options_;
  std::atomic<uint64_t>& done_;
  const Pseudonyms pseudonyms_;
  CoarseAmounts amounts_;
  std::vector<GroupDefinition> defined_;  ///< in the process-group file
  std::set<std::string> group_names_;     ///< that get another
  std::vector<int64_t> tags_;
  uint64_t first_start_ = UINT64_MAX;         ///< us
  std::map<std::string, std::string> names_;  ///< of nodes by pseudonym, for the mapping
  NewSet made_;
  ObfuscatedSet result_;
};

}  // namespace

ObfuscatedSet obfuscate(const TraceFileSet& files, const ObfuscateOptions& options, std::atomic<uint64_t>& done) {
  return Obfuscation(files, options, done).write();
}

}  // namespace rankwire
