#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "emulator/collective/custom_algorithm.h"

namespace rankwire {
namespace {

/// By position: whether the member's contribution is in it.
using Contributions = std::vector<bool>;

bool is_empty(const Contributions& contributions) {
  return std::find(contributions.begin(), contributions.end(), true) == contributions.end();
}

std::string text(const Contributions& contributions) {
  std::string members;
  for (uint32_t m = 0; m < contributions.size(); ++m)
    if (contributions[m]) members += fmt::format("{}{}", members.empty() ? "" : ", ", m);
  return members.empty() ? "nothing" : fmt::format("the data of {}", members);
}

enum class Order : uint8_t { kOldestFirst, kNewestFirst };

/// All members without time.
class Execution {
 public:
  explicit Execution(const CustomAlgorithm& algorithm) : algorithm_(algorithm), n_(algorithm.size()) {
    for (uint32_t m = 0; m < n_; ++m) number_messages(m);
    match_messages();
  }

  /// Which of the steps that could be executed comes first must not matter.
  void run(Order order) {
    prepare();
    size_t executed = 0;
    for (; !ready_.empty(); ++executed) {
      const auto [m, s] = order == Order::kOldestFirst ? ready_.front() : ready_.back();
      order == Order::kOldestFirst ? ready_.pop_front() : ready_.pop_back();
      execute(m, s);
      for (const uint32_t next : successors_[m][s])
        if (--missing_[m][next] == 0) make_ready(m, next);
    }
    size_t steps = 0;
    for (const auto& member : algorithm_.members) steps += member.size();
    if (executed < steps) fail_stuck();
    for (uint32_t m = 0; m < n_; ++m)
      for (uint32_t c = 0; c < algorithm_.chunks; ++c) check_result(m, c);
  }

 private:
  using Message = std::tuple<uint32_t, uint32_t, uint8_t, uint32_t>;  // source, destination, channel, number

  template <class... Args>
  [[noreturn]] void fail(uint32_t member, uint32_t chunk, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: member {}, chunk {}: {}", algorithm_.name, member, chunk,
               fmt::format(format, std::forward<Args>(args)...));
  }

  void number_messages(uint32_t m) {
    std::map<std::tuple<uint32_t, uint8_t, StepKind>, uint32_t> numbers;
    std::vector<Message>& messages = messages_.emplace_back();
    std::vector<std::vector<uint32_t>>& successors = successors_.emplace_back(algorithm_.members[m].size());
    for (uint32_t s = 0; s < algorithm_.members[m].size(); ++s) {
      const CustomStep& step = algorithm_.members[m][s];
      const uint32_t number = numbers[{step.peer, step.channel, step.kind}]++;
      const bool sent = step.kind == StepKind::kSend;
      messages.emplace_back(sent ? m : step.peer, sent ? step.peer : m, step.channel, number);
      for (const uint32_t earlier : step.after) successors[earlier].push_back(s);
      (sent ? senders_ : receivers_)[messages.back()] = s;
    }
  }

  void match_messages() const {
    for (const auto& [message, s] : senders_) {
      const auto [source, destination, channel, number] = message;
      const CustomStep& sent = algorithm_.members[source][s];
      const auto receiver = receivers_.find(message);
      if (receiver == receivers_.end())
        fail(source, sent.chunk, "message {} to member {} on channel {} is not received", number, destination, channel);
      const CustomStep& received = algorithm_.members[destination][receiver->second];
      if (std::tie(sent.tag, sent.chunk, sent.count) != std::tie(received.tag, received.chunk, received.count))
        fail(source, sent.chunk,
             "message {} to member {} on channel {} has tag {} and {} chunks, but the receiver expects tag {} and {} "
             "chunks from {} on",
             number, destination, channel, sent.tag, sent.count, received.tag, received.count, received.chunk);
    }
    for (const auto& [message, s] : receivers_)
      if (!senders_.contains(message))
        fail(std::get<1>(message), algorithm_.members[std::get<1>(message)][s].chunk,
             "message {} from member {} on channel {} is not sent", std::get<3>(message), std::get<0>(message),
             std::get<2>(message));
  }

  uint32_t block_of(uint32_t chunk) const {
    return chunk / (algorithm_.chunks / custom_blocks(algorithm_.operation, n_));
  }
  Contributions of(uint32_t m) const {
    Contributions contributions(n_);
    contributions[m] = true;
    return contributions;
  }
  Contributions initial(uint32_t m, uint32_t chunk) const {
    const uint32_t block = block_of(chunk);
    const bool gathers = algorithm_.operation == Operation::kAllGather && block != m;
    const bool listens = algorithm_.operation == Operation::kBroadcast && m != algorithm_.root;
    const bool exchanges = algorithm_.operation == Operation::kAllToAll && block / n_ != m;
    return gathers || listens || exchanges ? Contributions(n_) : of(m);
  }

  void prepare() {
    ready_.clear(), waiting_.clear(), sent_.clear(), missing_.clear();
    held_.assign(n_, {});
    for (uint32_t m = 0; m < n_; ++m)
      for (uint32_t c = 0; c < algorithm_.chunks; ++c) held_[m].push_back(initial(m, c));
    for (uint32_t m = 0; m < n_; ++m) {
      std::vector<size_t>& missing = missing_.emplace_back();
      for (uint32_t s = 0; s < algorithm_.members[m].size(); ++s) {
        missing.push_back(algorithm_.members[m][s].after.size());
        if (missing.back() == 0) make_ready(m, s);
      }
    }
  }

  void make_ready(uint32_t m, uint32_t s) {
    const bool receives = algorithm_.members[m][s].kind == StepKind::kReceive;
    if (receives && !sent_.contains(messages_[m][s]))
      waiting_.emplace(messages_[m][s], std::pair(m, s));
    else
      ready_.emplace_back(m, s);
  }

  void execute(uint32_t m, uint32_t s) {
    const CustomStep& step = algorithm_.members[m][s];
    std::vector<Contributions>& held = held_[m];
    if (step.kind == StepKind::kSend) {
      for (uint32_t c = step.chunk; c < step.chunk + step.count; ++c)
        if (is_empty(held[c])) fail(m, c, "is sent to member {} before it is there", step.peer);
      sent_[messages_[m][s]] = {held.begin() + step.chunk, held.begin() + step.chunk + step.count};
      if (const auto receiver = waiting_.find(messages_[m][s]); receiver != waiting_.end()) {
        ready_.push_back(receiver->second);
        waiting_.erase(receiver);
      }
      return;
    }
    const std::vector<Contributions>& data = sent_.at(messages_[m][s]);
    for (uint32_t i = 0; i < step.count; ++i) {
      Contributions& mine = held[step.chunk + i];
      for (uint32_t k = 0; k < n_ && step.reduce; ++k)
        if (mine[k] && data[i][k]) fail(m, step.chunk + i, "the data of member {} is added twice", k);
      for (uint32_t k = 0; k < n_; ++k) mine[k] = data[i][k] || (step.reduce && mine[k]);
    }
  }

  [[noreturn]] void fail_stuck() const {
    for (uint32_t m = 0; m < n_; ++m)
      for (uint32_t s = 0; s < algorithm_.members[m].size(); ++s) {
        const CustomStep& step = algorithm_.members[m][s];
        if (missing_[m][s] == 0 && waiting_.contains(messages_[m][s]))
          fail(m, step.chunk, "waits for ever for a message from member {}", step.peer);
      }
    fail_input("{}: steps wait for each other", algorithm_.name);
  }

  void check_result(uint32_t m, uint32_t chunk) const {
    const uint32_t block = block_of(chunk);
    Contributions wanted(n_, true);
    if (algorithm_.operation == Operation::kReduceScatter && block != m) return;
    if (algorithm_.operation == Operation::kReduce && m != algorithm_.root) return;
    if (algorithm_.operation == Operation::kBroadcast) wanted = of(algorithm_.root);
    if (algorithm_.operation == Operation::kAllGather) wanted = of(block);
    if (algorithm_.operation == Operation::kAllToAll) {
      if (block % n_ != m) return;
      wanted = of(block / n_);
    }
    if (held_[m][chunk] != wanted)
      fail(m, chunk, "ends with {}, but {} gives it {}", text(held_[m][chunk]), to_string(algorithm_.operation),
           text(wanted));
  }

  const CustomAlgorithm& algorithm_;
  const uint32_t n_;
  std::vector<std::vector<Message>> messages_;                  // by member and step
  std::vector<std::vector<std::vector<uint32_t>>> successors_;  // by member and step
  std::map<Message, uint32_t> senders_, receivers_;             // their steps
  std::vector<std::vector<Contributions>> held_;                // by member and chunk
  std::vector<std::vector<size_t>> missing_;                    // by member and step: incomplete earlier ones
  std::deque<std::pair<uint32_t, uint32_t>> ready_;
  std::map<Message, std::pair<uint32_t, uint32_t>> waiting_;
  std::map<Message, std::vector<Contributions>> sent_;
};

}  // namespace

void check_custom_algorithm(const CustomAlgorithm& algorithm) {
  const uint32_t blocks = custom_blocks(algorithm.operation, algorithm.size());
  if (blocks == 0)
    fail_input(
        "{}: {} cannot be described by files: all_reduce, reduce_scatter, all_gather, broadcast, reduce and "
        "all_to_all can",
        algorithm.name, to_string(algorithm.operation));
  if (algorithm.chunks == 0 || algorithm.chunks % blocks != 0)
    fail_input("{}: {} chunks do not divide the {} blocks of {} among {} members equally", algorithm.name,
               algorithm.chunks, blocks, to_string(algorithm.operation), algorithm.size());
  Execution execution(algorithm);
  execution.run(Order::kOldestFirst);
  execution.run(Order::kNewestFirst);
}

}  // namespace rankwire
