#include <fstream>

#include "base/error.h"
#include "converters/goal.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

/// One rank's nodes as statements.
class GoalWriter {
 public:
  GoalWriter(const std::string& path, uint32_t rank, uint32_t ranks, std::ofstream& out, NodeCounts& counts)
      : path_(path), rank_(rank), ranks_(ranks), out_(out), counts_(counts) {}

  void write() {
    out_ << "rank " << rank_ << " {\n";
    TraceReader reader(path_);
    std::string dependencies;  // all labels must stand above
    for (TraceNode node; reader.next(node);) {
      write_operation(node);
      ++counts_.nodes;
      for (const uint64_t id : node.data_deps) {
        if (id != node.id) dependencies += fmt::format("n{} requires n{}\n", node.id, id);
      }
    }
    out_ << dependencies << "}\n";
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

  void write_operation(const TraceNode& node) {
    out_ << "n" << node.id << ": ";
    switch (node.type) {
      case chakra::COMM_COLL_NODE:
        fail(node, "GOAL has no collectives");
      case chakra::COMM_SEND_NODE:
      case chakra::COMM_RECV_NODE: {
        const bool sends = node.type == chakra::COMM_SEND_NODE;
        const int64_t size = required(node, "comm_size", INT64_MAX);
        out_ << fmt::format("{} {}b {} {} tag {}\n", sends ? "send" : "recv", size, sends ? "to" : "from",
                            required(node, sends ? "comm_dst" : "comm_src", int64_t{ranks_} - 1),
                            integer_attribute(node, "comm_tag").value_or(0));
        ++(sends ? counts_.sends : counts_.receives);
        if (sends) counts_.bytes += static_cast<uint64_t>(size);
        break;
      }
      default:
        out_ << fmt::format("calc {}\n", node.duration * static_cast<uint64_t>(node.unit.ps / 1000));
    }
  }

  const std::string& path_;
  const uint32_t rank_, ranks_;
  std::ofstream& out_;
  NodeCounts& counts_;
};

}  // namespace

Conversion convert_to_goal(const std::vector<std::string>& traces, const std::filesystem::path& folder,
                           ConversionProgress& progress) {
  std::filesystem::create_directories(folder);
  Conversion conversion{.prefix = (folder / "schedule.goal").string(), .form = Conversion::Form::kSchedule};
  std::ofstream out(conversion.prefix);
  out << "num_ranks " << traces.size() << "\n";
  progress.total = traces.size();
  for (uint32_t rank = 0; rank < traces.size(); ++rank) {
    GoalWriter(traces[rank], rank, static_cast<uint32_t>(traces.size()), out, conversion.counts).write();
    ++conversion.ranks;
    ++progress.done;
  }
  if (!out.flush()) fail_run("{}: cannot write the schedule", conversion.prefix);
  return conversion;
}

}  // namespace rankwire
