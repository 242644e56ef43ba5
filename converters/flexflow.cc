#include "converters/flexflow.h"

#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

constexpr uint32_t kMostDevices = 1 << 17;
constexpr double kMostSeconds = 1e6;
constexpr std::string_view kDotBlanks = " \t";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kDotBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kDotBlanks) - begin + 1);
}

/// A task, as operations of one rank or two.
struct Task {
  struct Place {
    uint32_t rank, operation;
  };
  std::vector<Place> places;
};

class GraphReader {
 public:
  GraphReader(const std::string& path, std::string_view text) : lines_(path, text) {}

  FlexflowGraph read() {
    for (std::string_view line; lines_.next(line);) {
      if (line.find("->") != line.npos) {
        read_edge(line);
      } else if (const size_t label = line.find("label=\""); label != line.npos && is_task(line)) {
        read_task(line, label + 7);
      }
    }
    if (graph_.ranks.empty())
      lines_.fail("the graph has no tasks: lines such as node0 [label=\"{{ npu_id=0 | ... }}\"]");
    // Every task stands before the edges that name it or behind them.
    for (const Edge& edge : edges_) add_edge(edge);
    return std::move(graph_);
  }

 private:
  struct Edge {
    std::string from, to;
    uint64_t line;
  };

  // Not the defaults of graph, nodes and edges.
  static bool is_task(std::string_view line) {
    const std::string_view name = trimmed(line.substr(0, line.find('[')));
    return line.find('[') != line.npos && name != "graph" && name != "node" && name != "edge";
  }

  void read_edge(std::string_view line) {
    line = line.substr(0, line.find_first_of("[;"));
    std::string_view from;
    for (bool first = true;; first = false) {
      const size_t arrow = line.find("->");
      const std::string_view to = trimmed(line.substr(0, arrow));
      if (to.empty()) lines_.fail("an edge is written a -> b");
      if (!first) edges_.push_back({std::string(from), std::string(to), lines_.number()});
      if (arrow == line.npos) return;
      from = to;
      line.remove_prefix(arrow + 2);
    }
  }

  void read_task(std::string_view line, size_t label) {
    const std::string name(trimmed(line.substr(0, line.find('['))));
    std::string_view text = line.substr(label);
    const size_t end = text.find('"');
    if (end == text.npos) lines_.fail("the label has no end");
    text = trimmed(text.substr(0, end));
    if (text.starts_with('{')) text.remove_prefix(1);
    if (text.ends_with('}')) text.remove_suffix(1);
    cells_.clear();
    for (size_t bar; (bar = text.find('|')) != text.npos; text.remove_prefix(bar + 1))
      cells_.push_back(trimmed(text.substr(0, bar)));
    cells_.push_back(trimmed(text));
    if (cells_.size() < 4)
      lines_.fail("a task has cells npu_id=I | name | - | type | ..., not {} cells", cells_.size());
    const auto [task, added] = tasks_.try_emplace(name);
    if (!added) lines_.fail("task {} stands here for the second time", name);
    if (cells_[3] == "COMP_NODE") {
      add_computation(task->second);
    } else if (cells_[3] == "COMM_SEND_RECV_NODE") {
      add_transfer(task->second);
    } else {
      lines_.fail("\"{}\" is no type of task: COMP_NODE or COMM_SEND_RECV_NODE", cells_[3]);
    }
  }

  void add_computation(Task& task) {
    const uint32_t npu = number<uint32_t>(0, "npu_id", kMostDevices - 1);
    const std::optional<double> seconds = number_in<double>(value(4, "time"));
    if (!seconds || !(*seconds >= 0) || *seconds > kMostSeconds)
      lines_.fail("the time is \"{}\", not 0 to {:.0f} s", value(4, "time"), kMostSeconds);
    add(task, npu,
        {.kind = GoalOperation::Kind::kCompute, .amount = static_cast<uint64_t>(std::llround(*seconds * 1e9))});
  }

  void add_transfer(Task& task) {
    const uint32_t source = number<uint32_t>(4, "src", kMostDevices - 1);
    const uint32_t destination = number<uint32_t>(5, "dst", kMostDevices - 1);
    const uint64_t size = number<uint64_t>(6, "size", uint64_t{1} << 50);
    if (source == destination) lines_.fail("src and dst are both {}", source);
    const uint32_t tag = transfers_++;
    add(task, source, {.kind = GoalOperation::Kind::kSend, .amount = size, .peer = destination, .tag = tag});
    add(task, destination, {.kind = GoalOperation::Kind::kReceive, .amount = size, .peer = source, .tag = tag});
  }

  void add(Task& task, uint32_t rank, GoalOperation operation) {
    while (graph_.ranks.size() <= rank) graph_.ranks.push_back({.rank = static_cast<uint32_t>(graph_.ranks.size())});
    std::vector<GoalOperation>& operations = graph_.ranks[rank].operations;
    task.places.push_back({rank, static_cast<uint32_t>(operations.size())});
    operation.label = std::string(cells_[1]);
    operation.line = lines_.number();
    operations.push_back(std::move(operation));
  }

  void add_edge(const Edge& edge) {
    const Task &from = task_of(edge.from, edge.line), &to = task_of(edge.to, edge.line);
    bool kept = false;
    for (const Task::Place& before : from.places) {
      for (const Task::Place& after : to.places) {
        if (before.rank != after.rank) continue;
        graph_.ranks[after.rank].operations[after.operation].after.push_back(before.operation);
        kept = true;
      }
    }
    graph_.edges_between_ranks += !kept;
  }

  const Task& task_of(const std::string& name, uint64_t line) const {
    const auto task = tasks_.find(name);
    if (task == tasks_.end()) fail_input("{}:{}: there is no task {}", lines_.path(), line, name);
    return task->second;
  }

  std::string_view value(size_t cell, const char* what) const {
    if (cell >= cells_.size()) lines_.fail("{} is missing", what);
    return trimmed(cells_[cell].substr(cells_[cell].find('=') + 1));
  }

  template <class Number>
  Number number(size_t cell, const char* what, Number most) const {
    const std::optional<Number> found = number_in<Number>(value(cell, what));
    if (!found || *found > most) lines_.fail("{} is \"{}\", not 0 to {}", what, value(cell, what), most);
    return *found;
  }

  TextLines lines_;
  FlexflowGraph graph_;
  std::unordered_map<std::string, Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<std::string_view> cells_;  // of the task at hand
  uint32_t transfers_ = 0;
};

}  // namespace

FlexflowGraph parse_flexflow(const std::string& path, std::string_view text) {
  return GraphReader(path, text).read();
}

Conversion convert_flexflow(const std::string& path, const std::filesystem::path& folder,
                            ConversionProgress& progress) {
  const FlexflowGraph graph = parse_flexflow(path, read_text_file(path));
  TraceFolder traces(folder);
  Conversion conversion{.prefix = traces.prefix()};
  progress.total = graph.ranks.size();
  for (const GoalRank& rank : graph.ranks) {
    NodeWriter nodes(trace_file(conversion.prefix, rank.rank));
    write_operations(path, rank, nodes);
    conversion.add(nodes);
    ++progress.done;
  }
  if (graph.edges_between_ranks > 0)
    conversion.warnings.push_back(fmt::format(
        "{} edges between computations of different ranks are left out: only transfers reach from rank to rank",
        graph.edges_between_ranks));
  traces.keep();
  return conversion;
}

}  // namespace rankwire
