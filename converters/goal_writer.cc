#include <fstream>

#include "base/error.h"
#include "base/stop.h"
#include "converters/goal.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

/// One rank's nodes as statements.
class GoalWriter {
 public:
  GoalWriter(const std::string& path, uint32_t rank, uint32_t ranks, const ExpandCollective& expand, std::ofstream& out,
             NodeCounts& counts)
      : path_(path), rank_(rank), ranks_(ranks), expand_(expand), out_(out), counts_(counts) {}

  void write() {
    out_ << "rank " << rank_ << " {\n";
    TraceReader reader(path_);
    uint32_t place = 0;
    for (TraceNode node; reader.next(node); ++place) {
      check_stop();
      begins_.clear();
      std::erase(node.data_deps, node.id);
      const bool collective = node.type == chakra::COMM_COLL_NODE && write_collective(node, place);
      if (!collective) {
        write_operation(node);
        begins_.push_back(fmt::format("n{}", node.id));
      }
      ++counts_.nodes;
      for (const std::string& begin : begins_) {
        for (const uint64_t id : node.data_deps) require(begin, fmt::format("n{}", id));
      }
    }
    if (place == 0) fail_input("{}: has no nodes", path_);
    out_ << dependencies_ << "}\n";
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const TraceNode& node, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: node {} \"{}\": {}", path_, node.id, node.name, fmt::format(format, std::forward<Args>(args)...));
  }

  int64_t required(const TraceNode& node, const char* attribute, int64_t most) const {
    const auto value = integer_attribute(node, attribute);
    if (!value) fail(node, "has no {}", attribute);
    if (*value < 0 || *value > most) fail(node, "{} is {}, not 0 to {}", attribute, *value, most);
    return *value;
  }

  void require(std::string_view label, std::string_view before) {
    dependencies_ += fmt::format("{} requires {}\n", label, before);
  }

  /// Its steps are n<id>s0, n<id>s1 ..., and n<id> is done when all of them are.
  bool write_collective(TraceNode& node, uint32_t place) {
    const std::optional<GoalCollective> collective = expand_(rank_, place);
    if (!collective) return false;
    ++counts_.collectives;
    node.data_deps.insert(node.data_deps.end(), collective->after.begin(), collective->after.end());
    const std::string end = fmt::format("n{}", node.id);
    std::vector<bool> is_last(collective->operations.size(), true);
    for (size_t i = 0; i < collective->operations.size(); ++i) {
      const GoalOperation& operation = collective->operations[i];
      const std::string label = fmt::format("{}s{}", end, i);
      out_ << label << ": ";
      if (operation.kind == GoalOperation::Kind::kCompute) {
        out_ << fmt::format("calc {}\n", operation.amount);
      } else {
        write_message(operation.kind == GoalOperation::Kind::kSend, operation.amount, operation.peer, operation.tag);
      }
      if (operation.after.empty()) begins_.push_back(label);
      for (const uint32_t before : operation.after) {
        require(label, fmt::format("{}s{}", end, before));
        is_last[before] = false;
      }
    }
    out_ << end << ": calc 0\n";
    for (size_t i = 0; i < is_last.size(); ++i) {
      if (is_last[i]) require(end, fmt::format("{}s{}", end, i));
    }
    if (is_last.empty()) begins_.push_back(end);
    return true;
  }

  void write_message(bool sends, uint64_t size, uint64_t peer, int64_t tag) {
    out_ << fmt::format("{} {}b {} {} tag {}\n", sends ? "send" : "recv", size, sends ? "to" : "from", peer, tag);
    ++(sends ? counts_.sends : counts_.receives);
    if (sends) counts_.bytes += size;
  }

  void write_operation(const TraceNode& node) {
    out_ << "n" << node.id << ": ";
    switch (node.type) {
      case chakra::COMM_SEND_NODE:
      case chakra::COMM_RECV_NODE: {
        const bool sends = node.type == chakra::COMM_SEND_NODE;
        const int64_t size = required(node, "comm_size", INT64_MAX);
        const int64_t peer = required(node, sends ? "comm_dst" : "comm_src", int64_t{ranks_} - 1);
        write_message(sends, static_cast<uint64_t>(size), static_cast<uint64_t>(peer),
                      integer_attribute(node, "comm_tag").value_or(0));
        break;
      }
      default:
        out_ << fmt::format("calc {}\n", node.duration * static_cast<uint64_t>(node.unit.ps / 1000));
    }
  }

  const std::string& path_;
  const uint32_t rank_, ranks_;
  const ExpandCollective& expand_;
  std::ofstream& out_;
  NodeCounts& counts_;
  std::string dependencies_;         ///< all labels must stand above
  std::vector<std::string> begins_;  ///< of the node at hand, the labels that wait for what it depends on
};

/// `schedule.goal` of a folder, which is made if need be. Removed again unless it is kept; one that is there already is
/// replaced.
class ScheduleFile {
 public:
  explicit ScheduleFile(const std::filesystem::path& folder) : folder_(folder), path_(folder / "schedule.goal") {
    folder_.check();
  }
  ~ScheduleFile() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove(path_, ignored);
  }
  ScheduleFile(const ScheduleFile&) = delete;
  ScheduleFile& operator=(const ScheduleFile&) = delete;

  std::string path() const { return path_.string(); }
  void keep() { kept_ = true; }

 private:
  const NewFolder folder_;
  const std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace

Conversion convert_to_goal(const std::vector<std::string>& traces, const ExpandCollective& expand,
                           const std::filesystem::path& folder, ConversionProgress& progress) {
  ScheduleFile file(folder);
  Conversion conversion{.prefix = file.path(), .form = Conversion::Form::kSchedule};
  std::ofstream out(file.path());
  if (!out) fail_run("{}: cannot be written", conversion.prefix);
  out << "num_ranks " << traces.size() << "\n";
  progress.total = traces.size();
  for (uint32_t rank = 0; rank < traces.size(); ++rank) {
    GoalWriter(traces[rank], rank, static_cast<uint32_t>(traces.size()), expand, out, conversion.counts).write();
    ++conversion.ranks;
    ++progress.done;
  }
  if (!out.flush()) fail_run("{}: cannot write the schedule", conversion.prefix);
  file.keep();
  return conversion;
}

}  // namespace rankwire
