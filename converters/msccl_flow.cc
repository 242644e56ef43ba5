#include "converters/msccl_flow.h"

#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/sort_unique.h"
#include "converters/msccl_division.h"
#include "converters/msccl_exchange.h"
#include "converters/msccl_layout.h"
#include "converters/msccl_steps.h"

namespace rankwire {
namespace {

constexpr uint64_t kMostPlaces = 1 << 20;

/// Runs the steps without time, and follows what stands in each place of the buffers.
class Follower {
 public:
  Follower(const std::string& path, const MscclAlgorithm& algorithm)
      : steps_(path, algorithm), layout_(algorithm), exchange_(steps_), ranks_(steps_.ranks()) {
    make_places();
    fill_inputs();
  }

  MscclFlow follow() {
    run();
    check_results();
    return divide(steps_, layout_, exchange_);
  }

 private:
  using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;  ///< source, destination, channel

  struct Block {
    uint32_t next = 0;                           ///< step
    std::vector<StepPlace> waiting;              ///< thread blocks that wait for a step of this one
    std::vector<uint32_t> last;                  ///< ends that what follows waits for
    std::vector<std::vector<uint32_t>> ends_of;  ///< by step: the ends to wait for in order to wait for it
  };

  void make_places() {
    const MscclAlgorithm& algorithm = steps_.algorithm();
    uint64_t places = 0;
    for (uint32_t rank = 0; rank < ranks_; ++rank) places += layout_.places(rank);
    if (places > kMostPlaces) {
      fail_input("{}: the buffers have {} chunks together, the most is {}", steps_.path(), places, kMostPlaces);
    }
    if (uint64_t{algorithm.chunks} * ranks_ > INT32_MAX) {
      fail_input("{}: too many chunks for {} gpus", steps_.path(), ranks_);
    }
    places_.resize(ranks_);
    blocks_.resize(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      const std::vector<MscclBlock>& blocks = algorithm.gpus[rank].blocks;
      places_[rank].resize(layout_.places(rank));
      blocks_[rank].resize(blocks.size());
      for (size_t b = 0; b < blocks.size(); ++b) blocks_[rank][b].ends_of.resize(blocks[b].steps.size());
    }
  }

  void fill_inputs() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t offset = 0; offset < layout_.size(rank, MscclBuffer::kInput); ++offset) {
        const std::optional<ChunkSum> data = layout_.input(rank, offset);
        if (!data) continue;
        places_[rank][layout_.place(rank, MscclBuffer::kInput, offset)].data = *data;
        exchange_.hold(rank, *data);
      }
    }
  }

  MscclContent& place(const StepPlace& at, MscclPlace where, uint32_t further) {
    const uint64_t offset = uint64_t{where.offset} + further;
    const uint32_t size = layout_.size(at.rank, where.buffer);
    if (offset >= size) steps_.fail(at, "{} is beyond the buffer's {} chunks", named(where, further), size);
    return places_[at.rank][layout_.place(at.rank, where.buffer, static_cast<uint32_t>(offset))];
  }

  static std::string named(MscclPlace where, uint32_t further) {
    return fmt::format("{}[{}]", "ios"[static_cast<size_t>(where.buffer)], where.offset + further);
  }

  Block& block(const StepPlace& at) { return blocks_[at.rank][at.block]; }

  // Sends never wait, so the order in which thread blocks take turns makes no difference.
  void run() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t b = 0; b < blocks_[rank].size(); ++b) turns_.push_back({rank, b, 0});
    }
    while (!turns_.empty()) {
      StepPlace at = turns_.front();
      turns_.pop_front();
      const size_t steps = steps_.block(at).steps.size();
      for (at.step = block(at).next; at.step < steps && can_run(at); ++at.step) {
        block(at).next = at.step + 1;
        run_step(at);
        for (const StepPlace& other : std::exchange(block(at).waiting, {})) turns_.push_back(other);
      }
    }
    check_end();
  }

  /// When it cannot, whatever it waits for will have it take another turn.
  bool can_run(const StepPlace& at) {
    const MscclStep& what = steps_.step(at);
    if (what.wait) {
      Block& other = blocks_[at.rank][what.wait->block];
      if (other.next <= what.wait->step) {
        other.waiting.push_back(at);
        return false;
      }
    }
    if (!what.receives) return true;
    const Connection from = incoming(at);
    if (!sent_[from].empty()) return true;
    receivers_[from] = at;
    return false;
  }

  Connection incoming(const StepPlace& at) const {
    const MscclBlock& of = steps_.block(at);
    return {*of.receive, at.rank, of.channel};
  }
  Connection outgoing(const StepPlace& at) const {
    const MscclBlock& of = steps_.block(at);
    return {at.rank, *of.send, of.channel};
  }

  void run_step(const StepPlace& at) {
    const MscclStep& what = steps_.step(at);
    std::vector<uint32_t> before = block(at).last;
    if (what.wait) {
      const std::vector<uint32_t>& waited = blocks_[at.rank][what.wait->block].ends_of[what.wait->step];
      before.insert(before.end(), waited.begin(), waited.end());
    }
    sort_unique(before);

    std::vector<MscclContent> moving(what.count);
    if (what.receives) receive(at, before, moving);
    for (uint32_t i = 0; i < what.count; ++i) {
      if (what.reduces) {
        MscclContent operand = place(at, what.receives ? what.source : what.destination, i);
        if (!what.receives) moving[i] = place(at, what.source, i);
        add(at, operand, moving[i]);
        moving[i] = std::move(operand);
      } else if (!what.receives) {
        moving[i] = place(at, what.source, i);
        if (moving[i].data.of.empty()) steps_.fail(at, "nothing stands in {}", named(what.source, i));
      }
      if (what.writes) place(at, what.destination, i) = moving[i];
    }
    if (what.sends) send(at, before, moving);
    block(at).ends_of[at.step] = before;
    block(at).last = std::move(before);
  }

  void add(const StepPlace& at, MscclContent& sum, const MscclContent& other) const {
    if (!layout_.reduces()) steps_.fail(at, "reduces, but {} does not", to_string(steps_.algorithm().collective));
    if (sum.data.of.empty() || other.data.of.empty() || sum.data.chunk != other.data.chunk)
      steps_.fail(at, "adds {} to {}", described(other.data), described(sum.data));
    if (sum.data.of.overlaps(other.data.of))
      steps_.fail(at, "adds {} to {}: twice", described(other.data), described(sum.data));
    sum.data.of |= other.data.of;
    sum.received.insert(sum.received.end(), other.received.begin(), other.received.end());
  }

  void receive(const StepPlace& at, std::vector<uint32_t>& before, std::vector<MscclContent>& moving) {
    std::deque<uint32_t>& sent = sent_[incoming(at)];
    exchange_.receive(at, sent.front(), before, moving);
    sent.pop_front();
  }

  void send(const StepPlace& at, std::vector<uint32_t>& before, const std::vector<MscclContent>& moving) {
    const Connection connection = outgoing(at);
    sent_[connection].push_back(exchange_.send(at, before, moving));
    if (const auto waiting = receivers_.find(connection); waiting != receivers_.end()) {
      turns_.push_back(waiting->second);
      receivers_.erase(waiting);
    }
  }

  void check_end() const {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t b = 0; b < blocks_[rank].size(); ++b) {
        const StepPlace at{rank, b, blocks_[rank][b].next};
        if (at.step == steps_.block(at).steps.size()) continue;
        const MscclStep& what = steps_.step(at);
        if (what.wait && blocks_[rank][what.wait->block].next <= what.wait->step) {
          steps_.fail(at, "waits for step {} of thread block {}, which never comes", what.wait->step,
                      steps_.block({rank, what.wait->block, 0}).id);
        }
        steps_.fail(at, "waits for a message of gpu {} on channel {}, which never comes", std::get<0>(incoming(at)),
                    std::get<2>(incoming(at)));
      }
    }
    for (const auto& [connection, messages] : sent_) {
      if (!messages.empty()) steps_.fail(exchange_.sender(messages.front()), "nobody receives this message");
    }
  }

  void check_results() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t offset = 0; offset < layout_.output_chunks(); ++offset) {
        const ChunkSum right = layout_.result(rank, offset);
        const MscclContent& made = places_[rank][layout_.place(rank, MscclBuffer::kOutput, offset)];
        if (right.of.empty()) continue;
        if (made.data != right) {
          fail_input("{}: {} ends with {} in {} of gpu {}, not with {}", steps_.path(),
                     to_string(steps_.algorithm().collective), described(made.data),
                     named({MscclBuffer::kOutput, offset}, 0), rank, described(right));
        }
        exchange_.settle_result(made);
      }
    }
    exchange_.check_use();
  }

  const MscclSteps steps_;
  const MscclLayout layout_;
  MscclExchange exchange_;
  const uint32_t ranks_;
  std::vector<std::vector<MscclContent>> places_;    ///< by rank
  std::vector<std::vector<Block>> blocks_;           ///< by rank
  std::deque<StepPlace> turns_;                      ///< thread blocks that may go on
  std::map<Connection, std::deque<uint32_t>> sent_;  ///< messages that have not been received
  std::map<Connection, StepPlace> receivers_;        ///< who waits for one
};

}  // namespace

MscclFlow follow_msccl(const std::string& path, const MscclAlgorithm& algorithm) {
  return Follower(path, algorithm).follow();
}

}  // namespace rankwire
