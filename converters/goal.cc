#include "converters/goal.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/sort_unique.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

bool is_label(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (word.empty() || !letter(word.front())) return false;
  return std::ranges::all_of(word, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

class GoalReader {
 public:
  GoalReader(const std::string& path, std::string_view text, const std::function<void(uint32_t, const GoalRank&)>& take)
      : lines_(path, text), path_(path), take_(take) {}

  uint32_t read();

 private:
  using Words = std::vector<std::string_view>;

  std::string without_comments(std::string_view line);
  void read_statement(const Words& words);
  void begin_rank(const Words& words);
  void end_rank();
  GoalOperation read_operation(const Words& words, size_t at);
  void read_options(const Words& words, size_t at, GoalOperation& operation);
  void read_dependency(const Words& words);
  uint32_t labelled(std::string_view label);
  uint64_t number(std::string_view word, std::string_view what, uint64_t most);

  TextLines lines_;
  const std::string& path_;
  const std::function<void(uint32_t, const GoalRank&)>& take_;
  uint32_t ranks_ = 0;
  bool in_comment_ = false, in_rank_ = false;
  GoalRank rank_;
  std::vector<bool> seen_;
  std::unordered_map<std::string, uint32_t> labels_;
};

/// Also puts braces apart, which may touch the words beside them.
std::string GoalReader::without_comments(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string_view pair = line.substr(i, 2);
    if (in_comment_) {
      if (pair == "*/") in_comment_ = false, ++i;
    } else if (pair == "//") {
      break;
    } else if (pair == "/*") {
      in_comment_ = true, ++i;
      text += ' ';
    } else if (line[i] == '{' || line[i] == '}') {
      text += ' ';
      text += line[i];
      text += ' ';
    } else {
      text += line[i];
    }
  }
  return text;
}

uint64_t GoalReader::number(std::string_view word, std::string_view what, uint64_t most) {
  const auto value = number_in<uint64_t>(word);
  if (!value || *value > most) lines_.fail("{} is \"{}\", not 0 to {}", what, word, most);
  return *value;
}

void GoalReader::begin_rank(const Words& words) {
  if (ranks_ == 0) lines_.fail("num_ranks must come first");
  if (words.size() != 3 || words[2] != "{") lines_.fail("a rank begins with \"rank <number> {{\"");
  rank_ = {.rank = static_cast<uint32_t>(number(words[1], "the rank", ranks_ - 1)), .operations = {}};
  if (seen_[rank_.rank]) lines_.fail("rank {} for the second time", rank_.rank);
  seen_[rank_.rank] = true;
  in_rank_ = true;
}

void GoalReader::end_rank() {
  take_(ranks_, rank_);
  labels_.clear();
  in_rank_ = false;
}

void GoalReader::read_options(const Words& words, size_t at, GoalOperation& operation) {
  for (; at < words.size(); at += 2) {
    const std::string_view key = words[at];
    if (at + 1 == words.size()) lines_.fail("{} has no value", key);
    const bool calculates = operation.kind == GoalOperation::Kind::kCompute;
    if (key == "cpu") {
      operation.cpu = static_cast<int64_t>(number(words[at + 1], "the cpu", UINT8_MAX));
    } else if (key == "tag" && !calculates) {
      if (words[at + 1] == "-1") lines_.fail("a receive with any tag has no counterpart in Chakra");
      operation.tag = static_cast<uint32_t>(number(words[at + 1], "the tag", kMostGoalTag));
    } else if (key == "nic" && !calculates) {
      number(words[at + 1], "the nic", UINT8_MAX);
    } else {
      lines_.fail("\"{}\" is no option of {}: {}", key, calculates ? "calc" : "send and recv",
                  calculates ? "cpu" : "tag, cpu, nic");
    }
  }
}

GoalOperation GoalReader::read_operation(const Words& words, size_t at) {
  using enum GoalOperation::Kind;
  GoalOperation operation{.line = lines_.number()};
  const std::string_view verb = words[at];
  if (verb == "calc") {
    if (at + 1 == words.size()) lines_.fail("calc takes a number of nanoseconds");
    operation.amount = number(words[at + 1], "calc", kMostGoalTime);
    read_options(words, at + 2, operation);
    return operation;
  }
  const bool sends = verb == "send";
  operation.kind = sends ? kSend : kReceive;
  if (words.size() < at + 4 || words[at + 2] != (sends ? "to" : "from") || !words[at + 1].ends_with('b')) {
    lines_.fail("{} is written \"{} <bytes>b {} <rank>\"", verb, verb, sends ? "to" : "from");
  }
  std::string_view size = words[at + 1];
  size.remove_suffix(1);
  operation.amount = number(size, "the size", kMostGoalBytes);
  if (words[at + 3] == "-1") lines_.fail("a receive from any source has no counterpart in Chakra");
  operation.peer = static_cast<uint32_t>(number(words[at + 3], "the peer", ranks_ - 1));
  if (operation.peer == rank_.rank) lines_.fail("rank {} communicates with itself", rank_.rank);
  read_options(words, at + 4, operation);
  return operation;
}

uint32_t GoalReader::labelled(std::string_view label) {
  const auto found = labels_.find(std::string(label));
  if (found == labels_.end()) lines_.fail("no operation of rank {} above has the label \"{}\"", rank_.rank, label);
  return found->second;
}

void GoalReader::read_dependency(const Words& words) {
  if (words.size() != 3) lines_.fail("a dependency is written \"<label> {} <label>\"", words[1]);
  const uint32_t later = labelled(words[0]), earlier = labelled(words[2]);
  if (later == earlier) lines_.fail("\"{}\" requires itself", words[0]);
  std::vector<uint32_t>& after = rank_.operations[later].after;
  if (words[1] == "requires") {
    after.push_back(earlier);
    return;
  }
  for (const uint32_t before : rank_.operations[earlier].after) {
    if (before != later) after.push_back(before);
  }
}

void GoalReader::read_statement(const Words& words) {
  if (words[0] == "num_ranks" && !in_rank_) {
    if (ranks_ != 0 || words.size() != 2) lines_.fail("\"num_ranks <number>\" stands there once");
    ranks_ = static_cast<uint32_t>(number(words[1], "num_ranks", kMostGoalRanks));
    if (ranks_ == 0) lines_.fail("num_ranks is 0");
    seen_.resize(ranks_);
  } else if (words[0] == "rank" && !in_rank_) {
    begin_rank(words);
  } else if (words[0] == "}" && in_rank_ && words.size() == 1) {
    end_rank();
  } else if (!in_rank_) {
    lines_.fail("\"{}\" outside a rank", words[0]);
  } else if (words.size() > 1 && (words[1] == "requires" || words[1] == "irequires")) {
    read_dependency(words);
  } else {
    std::string_view label;
    if (words[0].ends_with(':')) label = words[0].substr(0, words[0].size() - 1);
    const size_t verb = label.data() == nullptr ? 0 : 1;
    if (verb == 1 && !is_label(label)) lines_.fail("\"{}\" is no label: a letter, then letters, digits and _", label);
    if (verb == words.size() || (words[verb] != "send" && words[verb] != "recv" && words[verb] != "calc")) {
      lines_.fail("send, recv, calc, or a dependency of labels is wanted");
    }
    const auto index = static_cast<uint32_t>(rank_.operations.size());
    rank_.operations.push_back(read_operation(words, verb));
    rank_.operations.back().label = label;
    if (verb == 1 && !labels_.emplace(label, index).second) lines_.fail("label \"{}\" for the second time", label);
  }
}

uint32_t GoalReader::read() {
  std::string_view line;
  while (lines_.next(line)) {
    const std::string text = without_comments(line);
    const Words words = words_of(text);
    if (!words.empty()) read_statement(words);
  }
  if (in_rank_) fail_input("{}: rank {} does not end", path_, rank_.rank);
  if (ranks_ == 0) fail_input("{}: no num_ranks", path_);
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!seen_[rank]) take_(ranks_, {.rank = rank, .operations = {}});
  }
  return ranks_;
}

/// The operations, each behind what it depends on, and in the order of the text where it is free.
std::vector<uint32_t> executable_order(const std::string& path, const GoalRank& rank) {
  std::vector<uint32_t> open(rank.operations.size()), order, ready;
  std::vector<std::vector<uint32_t>> next(rank.operations.size());
  for (uint32_t i = 0; i < open.size(); ++i) {
    open[i] = static_cast<uint32_t>(rank.operations[i].after.size());
    for (const uint32_t before : rank.operations[i].after) next[before].push_back(i);
    if (open[i] == 0) ready.push_back(i);
  }
  std::ranges::make_heap(ready, std::greater{});
  while (!ready.empty()) {
    std::ranges::pop_heap(ready, std::greater{});
    const uint32_t index = ready.back();
    ready.pop_back();
    order.push_back(index);
    for (const uint32_t later : next[index]) {
      if (--open[later] > 0) continue;
      ready.push_back(later);
      std::ranges::push_heap(ready, std::greater{});
    }
  }
  if (order.size() < open.size()) {
    const auto stuck = std::ranges::find_if(open, [](uint32_t count) { return count > 0; }) - open.begin();
    const uint64_t line = rank.operations[static_cast<size_t>(stuck)].line;
    fail_input("{}: rank {}: operations require each other", line > 0 ? fmt::format("{}:{}", path, line) : path,
               rank.rank);
  }
  return order;
}

/// Whether what is sent is what is received, as far as numbers and bytes of all messages between two ranks with one tag
/// tell. LogGOPSim and MPI take a receive that is larger than its message; no Chakra run does.
class MessageBalance {
 public:
  void add(const GoalRank& rank) {
    for (const GoalOperation& operation : rank.operations) {
      if (operation.kind == GoalOperation::Kind::kCompute) continue;
      const bool sends = operation.kind == GoalOperation::Kind::kSend;
      const Ends ends{sends ? rank.rank : operation.peer, sends ? operation.peer : rank.rank, operation.tag};
      Difference& difference = open_[ends];
      difference.messages += sends ? 1 : -1;
      difference.bytes += sends ? operation.amount : -operation.amount;
      if (difference.messages == 0 && difference.bytes == 0) open_.erase(ends);
    }
  }

  void warn(const std::string& path, Warnings& warnings) const {
    const auto first = std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.first.key(); });
    if (first == open_.end()) return;
    const auto& [ends, difference] = *first;
    const auto more = [](int64_t value, const char* unit) {
      return fmt::format("{} {} {}", std::abs(value), unit, value < 0 ? "less" : "more");
    };
    warnings.push_back(fmt::format(
        "{}: rank {} sends {} and {} to rank {} with tag {} than that receives{}; a run refuses such traces", path,
        ends.source, more(difference.messages, "messages"), more(static_cast<int64_t>(difference.bytes), "B"),
        ends.destination, ends.tag,
        open_.size() > 1 ? fmt::format(", and so it is with {} more pairs of ranks or tags", open_.size() - 1) : ""));
  }

 private:
  struct Ends {
    uint32_t source, destination, tag;

    std::tuple<uint32_t, uint32_t, uint32_t> key() const { return {source, destination, tag}; }
    bool operator==(const Ends&) const = default;
  };
  struct HashEnds {
    size_t operator()(const Ends& ends) const {
      // Ranks are below 2^20, so that the first two leave 24 bits of the number to themselves.
      const uint64_t pair = uint64_t{ends.source} << 20 | ends.destination;
      return std::hash<uint64_t>()(pair << 24 ^ uint64_t{ends.tag} * 0x9E3779B97F4A7C15u);
    }
  };
  struct Difference {
    int64_t messages = 0;  ///< sent less received
    uint64_t bytes = 0;    ///< the same; below 0 by way of 2^64
  };

  std::unordered_map<Ends, Difference, HashEnds> open_;
};

}  // namespace

void write_operations(const std::string& path, const GoalRank& rank, NodeWriter& nodes) {
  uint64_t carried = 0;  // ns that no node has had yet
  std::vector<NodeWriter::Id> ids(rank.operations.size()), after;
  for (const uint32_t index : executable_order(path, rank)) {
    const GoalOperation& operation = rank.operations[index];
    after.clear();
    for (const uint32_t before : operation.after) after.push_back(ids[before]);
    sort_unique(after);
    const std::string name = operation.label.empty() ? fmt::format("line {}", operation.line) : operation.label;
    if (operation.cpu >= 0) nodes.with("cpu", operation.cpu);
    const Bytes size(static_cast<int64_t>(operation.amount));
    switch (operation.kind) {
      case GoalOperation::Kind::kSend:
        ids[index] = nodes.send(name, rank.rank, operation.peer, operation.tag, size, after);
        break;
      case GoalOperation::Kind::kReceive:
        ids[index] = nodes.receive(name, operation.peer, rank.rank, operation.tag, size, after);
        break;
      case GoalOperation::Kind::kCompute:
        carried += operation.amount;
        ids[index] = nodes.compute(name, carried / 1000, 0, Bytes(0), after);
        carried %= 1000;
        break;
    }
  }
  // A trace without nodes would not be read.
  if (rank.operations.empty()) nodes.compute("idle", 0, 0, Bytes(0), {});
}

uint32_t parse_goal(const std::string& path, std::string_view text,
                    const std::function<void(uint32_t, const GoalRank&)>& take) {
  return GoalReader(path, text, take).read();
}

Conversion convert_goal(const std::string& path, const std::filesystem::path& folder, ConversionProgress& progress) {
  TraceFolder traces(folder);
  Conversion conversion{.prefix = traces.prefix()};
  const std::string schedule = read_text_file(path);
  const auto parse = is_goal_binary(schedule) ? parse_goal_binary : parse_goal;
  MessageBalance balance;
  parse(path, schedule, [&](uint32_t ranks, const GoalRank& rank) {
    balance.add(rank);
    progress.total = ranks;
    NodeWriter nodes(trace_file(conversion.prefix, rank.rank));
    write_operations(path, rank, nodes);
    conversion.add(nodes);
    ++progress.done;
  });
  balance.warn(path, conversion.warnings);
  traces.keep();
  return conversion;
}

}  // namespace rankwire
