#include "converters/msccl_flow.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/sort_unique.h"
#include "converters/contributors.h"

namespace rankwire {
namespace {

constexpr uint64_t kMostPlaces = 1 << 20;

/// A chunk of the collective, as far as it has been summed.
struct Data {
  uint32_t chunk = 0;
  Contributors of;  ///< empty: nothing

  bool operator==(const Data&) const = default;
};

/// Where a step stands.
struct StepPlace {
  uint32_t rank = 0, block = 0, step = 0;  ///< indexes
  auto operator<=>(const StepPlace&) const = default;
};

/// One chunk of a message.
struct Piece {
  uint32_t message = 0, index = 0;
  bool operator==(const Piece&) const = default;
};

/// A place in a buffer of a GPU.
struct Place {
  Data data;
  std::vector<Piece> received;  ///< what was received that is in `data`
};

/// One end of a message.
struct End {
  StepPlace at;
  uint32_t message = 0;
  bool sends = false;
  std::vector<uint32_t> after;  ///< ends of the same rank
};

struct Message {
  uint32_t from = 0, to = 0, channel = 0;
  std::vector<Data> data;
  uint32_t send = 0, receive = 0;      ///< ends
  std::vector<bool> settled, reduces;  ///< by chunk, whether and how the receiver has put it to the others
};

/// What a rank has of a chunk, when it has one place for it.
struct Slot {
  Contributors of;
  std::vector<uint32_t> writers, adders, readers;  ///< ends since it was overwritten
};

std::string described(const Data& data) {
  if (data.of.empty()) return "nothing";
  return fmt::format("chunk {} of gpus {}", data.chunk, to_string(data.of));
}

class Follower {
 public:
  Follower(const std::string& path, const MscclAlgorithm& algorithm)
      : path_(path), algorithm_(algorithm), ranks_(static_cast<uint32_t>(algorithm.gpus.size())) {
    make_places();
    fill_inputs();
  }

  MscclFlow follow() {
    run();
    check_results();
    return divide(order());
  }

 private:
  using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;  ///< source, destination, channel

  struct Block {
    uint32_t next = 0;                           ///< step
    std::vector<StepPlace> waiting;              ///< thread blocks that wait for a step of this one
    std::vector<uint32_t> last;                  ///< ends that what follows waits for
    std::vector<std::vector<uint32_t>> ends_of;  ///< by step: the ends to wait for in order to wait for it
  };

  bool is_reduction() const {
    return algorithm_.collective == MscclCollective::kAllReduce ||
           algorithm_.collective == MscclCollective::kReduceScatter ||
           algorithm_.collective == MscclCollective::kReduce;
  }
  uint32_t share() const { return algorithm_.chunks / ranks_; }

  uint32_t input_chunks() const {
    return algorithm_.collective == MscclCollective::kAllGather ? share() : algorithm_.chunks;
  }
  uint32_t output_chunks() const {
    return algorithm_.collective == MscclCollective::kReduceScatter ? share() : algorithm_.chunks;
  }
  uint32_t all_chunks() const {
    return algorithm_.collective == MscclCollective::kAllToAll ? algorithm_.chunks * ranks_ : algorithm_.chunks;
  }

  /// The chunk of the collective that rank's input has at `offset`.
  uint32_t input_chunk(uint32_t rank, uint32_t offset) const {
    switch (algorithm_.collective) {
      case MscclCollective::kAllGather:
        return rank * share() + offset;
      case MscclCollective::kAllToAll:
        return rank * algorithm_.chunks + offset;
      default:
        return offset;
    }
  }

  /// What rank's output must have at `offset` in the end; nothing where it does not matter.
  Data result(uint32_t rank, uint32_t offset) const {
    switch (algorithm_.collective) {
      case MscclCollective::kAllReduce:
        return {offset, Contributors::all(ranks_)};
      case MscclCollective::kReduceScatter:
        return {rank * share() + offset, Contributors::all(ranks_)};
      case MscclCollective::kReduce:
        return {offset, rank == algorithm_.root ? Contributors::all(ranks_) : Contributors()};
      case MscclCollective::kAllGather:
        return {offset, Contributors::only(offset / share())};
      case MscclCollective::kAllToAll:
        return {offset / share() * algorithm_.chunks + rank * share() + offset % share(),
                Contributors::only(offset / share())};
      case MscclCollective::kBroadcast:
        return {offset, Contributors::only(algorithm_.root)};
    }
    return {};
  }

  void make_places() {
    uint64_t places = 0;
    for (const MscclGpu& gpu : algorithm_.gpus) places += uint64_t{input_chunks()} + output_chunks() + gpu.scratch;
    if (places > kMostPlaces)
      fail_input("{}: the buffers have {} chunks together, the most is {}", path_, places, kMostPlaces);
    if (uint64_t{algorithm_.chunks} * ranks_ > INT32_MAX) fail_input("{}: too many chunks for {} gpus", path_, ranks_);
    places_.resize(ranks_);
    blocks_.resize(ranks_);
    slots_.resize(ranks_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      const MscclGpu& gpu = algorithm_.gpus[rank];
      places_[rank].resize(size_t{input_chunks()} + output_chunks() + gpu.scratch);
      blocks_[rank].resize(gpu.blocks.size());
      for (size_t b = 0; b < gpu.blocks.size(); ++b) blocks_[rank][b].ends_of.resize(gpu.blocks[b].steps.size());
    }
  }

  void fill_inputs() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (algorithm_.collective == MscclCollective::kBroadcast && rank != algorithm_.root) continue;
      for (uint32_t offset = 0; offset < input_chunks(); ++offset) {
        const Data data{input_chunk(rank, offset), Contributors::only(rank)};
        places_[rank][index_of(rank, MscclBuffer::kInput, offset)].data = data;
        slots_[rank][data.chunk].of = data.of;
      }
    }
  }

  /// In place the input is (part of) the output, or the other way round.
  size_t index_of(uint32_t rank, MscclBuffer buffer, uint32_t offset) const {
    const size_t output = input_chunks();
    switch (buffer) {
      case MscclBuffer::kInput:
        return algorithm_.in_place && algorithm_.collective == MscclCollective::kAllGather
                   ? output + rank * share() + offset
                   : offset;
      case MscclBuffer::kOutput:
        if (!algorithm_.in_place || algorithm_.collective == MscclCollective::kAllGather) return output + offset;
        return algorithm_.collective == MscclCollective::kReduceScatter ? rank * share() + offset : offset;
      case MscclBuffer::kScratch:
        return output + output_chunks() + offset;
    }
    return 0;
  }

  Place& place(const StepPlace& at, MscclPlace where, uint32_t further) {
    const uint64_t offset = uint64_t{where.offset} + further;
    const uint64_t size = where.buffer == MscclBuffer::kInput    ? input_chunks()
                          : where.buffer == MscclBuffer::kOutput ? output_chunks()
                                                                 : algorithm_.gpus[at.rank].scratch;
    if (offset >= size) fail(at, "{} is beyond the buffer's {} chunks", named(where, further), size);
    return places_[at.rank][index_of(at.rank, where.buffer, static_cast<uint32_t>(offset))];
  }

  static std::string named(MscclPlace where, uint32_t further) {
    return fmt::format("{}[{}]", "ios"[static_cast<size_t>(where.buffer)], where.offset + further);
  }

  const MscclStep& step(const StepPlace& at) const { return algorithm_.gpus[at.rank].blocks[at.block].steps[at.step]; }
  Block& block(const StepPlace& at) { return blocks_[at.rank][at.block]; }

  std::string name(const StepPlace& at) const {
    return fmt::format("gpu {} thread block {} step {}", at.rank, algorithm_.gpus[at.rank].blocks[at.block].id,
                       at.step);
  }
  template <class... Args>
  [[noreturn]] void fail(const StepPlace& at, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}:{}: {}: {}", path_, step(at).line, name(at), fmt::format(format, std::forward<Args>(args)...));
  }

  // Sends never wait, so the order in which thread blocks take turns makes no difference.
  void run() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t b = 0; b < blocks_[rank].size(); ++b) turns_.push_back({rank, b, 0});
    }
    while (!turns_.empty()) {
      StepPlace at = turns_.front();
      turns_.pop_front();
      const size_t steps = algorithm_.gpus[at.rank].blocks[at.block].steps.size();
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
    const MscclStep& what = step(at);
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
    const MscclBlock& of = algorithm_.gpus[at.rank].blocks[at.block];
    return {*of.receive, at.rank, of.channel};
  }
  Connection outgoing(const StepPlace& at) const {
    const MscclBlock& of = algorithm_.gpus[at.rank].blocks[at.block];
    return {at.rank, *of.send, of.channel};
  }

  void run_step(const StepPlace& at) {
    const MscclStep& what = step(at);
    std::vector<uint32_t> before = block(at).last;
    if (what.wait) {
      const std::vector<uint32_t>& waited = blocks_[at.rank][what.wait->block].ends_of[what.wait->step];
      before.insert(before.end(), waited.begin(), waited.end());
    }
    sort_unique(before);

    std::vector<Place> moving(what.count);
    if (what.receives) receive(at, before, moving);
    for (uint32_t i = 0; i < what.count; ++i) {
      if (what.reduces) {
        Place operand = place(at, what.receives ? what.source : what.destination, i);
        if (!what.receives) moving[i] = place(at, what.source, i);
        add(at, operand, moving[i]);
        moving[i] = std::move(operand);
      } else if (!what.receives) {
        moving[i] = place(at, what.source, i);
        if (moving[i].data.of.empty()) fail(at, "nothing stands in {}", named(what.source, i));
      }
      if (what.writes) place(at, what.destination, i) = moving[i];
    }
    if (what.sends) send(at, before, moving);
    block(at).ends_of[at.step] = before;
    block(at).last = std::move(before);
  }

  void add(const StepPlace& at, Place& sum, const Place& other) const {
    if (!is_reduction()) fail(at, "reduces, but {} does not", to_string(algorithm_.collective));
    if (sum.data.of.empty() || other.data.of.empty() || sum.data.chunk != other.data.chunk)
      fail(at, "adds {} to {}", described(other.data), described(sum.data));
    if (sum.data.of.overlaps(other.data.of))
      fail(at, "adds {} to {}: twice", described(other.data), described(sum.data));
    sum.data.of |= other.data.of;
    sum.received.insert(sum.received.end(), other.received.begin(), other.received.end());
  }

  uint32_t add_end(const StepPlace& at, uint32_t message, bool sends, std::vector<uint32_t>& before) {
    const auto end = static_cast<uint32_t>(ends_.size());
    ends_.push_back({.at = at, .message = message, .sends = sends, .after = before});
    before = {end};
    return end;
  }

  void receive(const StepPlace& at, std::vector<uint32_t>& before, std::vector<Place>& moving) {
    std::deque<uint32_t>& sent = sent_[incoming(at)];
    const uint32_t number = sent.front();
    sent.pop_front();
    Message& message = messages_[number];
    if (message.data.size() != moving.size())
      fail(at, "receives {} chunks, but {} sends {}", moving.size(), name(ends_[message.send].at), message.data.size());
    message.receive = add_end(at, number, false, before);
    for (uint32_t i = 0; i < moving.size(); ++i) moving[i] = {message.data[i], {{number, i}}};
  }

  void send(const StepPlace& at, std::vector<uint32_t>& before, const std::vector<Place>& moving) {
    const auto number = static_cast<uint32_t>(messages_.size());
    const auto [from, to, channel] = outgoing(at);
    Message message{.from = from, .to = to, .channel = channel};
    message.send = add_end(at, number, true, before);
    for (const Place& moved : moving) {
      Slot& slot = settle(at, moved);
      std::vector<uint32_t>& after = ends_[message.send].after;
      after.insert(after.end(), slot.writers.begin(), slot.writers.end());
      after.insert(after.end(), slot.adders.begin(), slot.adders.end());
      slot.readers.push_back(message.send);
      message.data.push_back(moved.data);
    }
    message.settled.resize(moving.size());
    message.reduces.resize(moving.size());
    messages_.push_back(std::move(message));
    sent_[{from, to, channel}].push_back(number);
    if (const auto waiting = receivers_.find({from, to, channel}); waiting != receivers_.end()) {
      turns_.push_back(waiting->second);
      receivers_.erase(waiting);
    }
  }

  /// Has the rank's one place for the chunk have what stands at a place of a buffer, by what was received and is in it.
  Slot& settle(const StepPlace& at, const Place& wanted) {
    Slot& slot = slots_[at.rank][wanted.data.chunk];
    std::vector<Piece> open;
    for (const Piece& piece : wanted.received) {
      const Message& message = messages_[piece.message];
      if (!message.settled[piece.index] && std::ranges::find(open, piece) == open.end()) open.push_back(piece);
    }
    Contributors received;
    for (const Piece& piece : open) received |= data_of(piece).of;
    Contributors sum = slot.of;
    sum |= received;
    const bool adds = !open.empty() && !slot.of.overlaps(received) && sum == wanted.data.of;
    const bool replaces = !open.empty() && !adds && received == wanted.data.of;
    if (!adds && !replaces && !(open.empty() && slot.of == wanted.data.of)) {
      fail(at,
           "{} cannot be had: rankwire's algorithms have one place for a chunk, where {} stands and gpus {} would be "
           "received",
           described(wanted.data), described(Data{wanted.data.chunk, slot.of}), to_string(received));
    }
    bool overwrites = replaces || slot.of.empty();
    for (const Piece& piece : open) {
      put(slot, piece, std::exchange(overwrites, false));
    }
    if (!open.empty()) slot.of = wanted.data.of;
    return slot;
  }

  void put(Slot& slot, const Piece& piece, bool overwrites) {
    Message& message = messages_[piece.message];
    message.settled[piece.index] = true;
    message.reduces[piece.index] = !overwrites;
    std::vector<uint32_t>& after = ends_[message.receive].after;
    after.insert(after.end(), slot.readers.begin(), slot.readers.end());
    after.insert(after.end(), slot.writers.begin(), slot.writers.end());
    if (!overwrites) {
      slot.adders.push_back(message.receive);
      return;
    }
    after.insert(after.end(), slot.adders.begin(), slot.adders.end());
    slot = {.writers = {message.receive}};
  }

  const Data& data_of(const Piece& piece) const { return messages_[piece.message].data[piece.index]; }

  void check_end() const {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t b = 0; b < blocks_[rank].size(); ++b) {
        const StepPlace at{rank, b, blocks_[rank][b].next};
        if (at.step == algorithm_.gpus[rank].blocks[b].steps.size()) continue;
        const MscclStep& what = step(at);
        if (what.wait && blocks_[rank][what.wait->block].next <= what.wait->step) {
          fail(at, "waits for step {} of thread block {}, which never comes", what.wait->step,
               algorithm_.gpus[rank].blocks[what.wait->block].id);
        }
        fail(at, "waits for a message of gpu {} on channel {}, which never comes", std::get<0>(incoming(at)),
             std::get<2>(incoming(at)));
      }
    }
    for (const auto& [connection, messages] : sent_) {
      if (!messages.empty()) fail(ends_[messages_[messages.front()].send].at, "nobody receives this message");
    }
  }

  void check_results() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t offset = 0; offset < output_chunks(); ++offset) {
        const Data right = result(rank, offset);
        const Place& made = places_[rank][index_of(rank, MscclBuffer::kOutput, offset)];
        if (right.of.empty()) continue;
        if (made.data != right)
          fail_input("{}: {} ends with {} in {} of gpu {}, not with {}", path_, to_string(algorithm_.collective),
                     described(made.data), named({MscclBuffer::kOutput, offset}, 0), rank, described(right));
        if (!made.received.empty()) settle(ends_[messages_[made.received.back().message].receive].at, made);
      }
    }
    for (const Message& message : messages_) {
      const auto unused = std::ranges::find(message.settled, false);
      if (unused == message.settled.end()) continue;
      const auto index = static_cast<size_t>(unused - message.settled.begin());
      fail(ends_[message.receive].at, "nothing is done with {}", described(message.data[index]));
    }
  }

  /// The ends so that each stands behind what it waits for, and a receive behind its send.
  std::vector<uint32_t> order() {
    std::vector<std::vector<uint32_t>> next(ends_.size());
    std::vector<uint32_t> waits(ends_.size());
    const auto wait = [&](uint32_t end, uint32_t before) {
      next[before].push_back(end);
      ++waits[end];
    };
    for (uint32_t e = 0; e < ends_.size(); ++e) {
      std::vector<uint32_t>& after = ends_[e].after;
      sort_unique(after);
      for (const uint32_t before : after) wait(e, before);
      if (!ends_[e].sends) wait(e, messages_[ends_[e].message].send);
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t e = 0; e < ends_.size(); ++e) {
      if (waits[e] == 0) ready.push(e);
    }
    std::vector<uint32_t> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const uint32_t later : next[order.back()]) {
        if (--waits[later] == 0) ready.push(later);
      }
    }
    if (order.size() == ends_.size()) return order;
    // From whatever waits, by way of what it waits for, leads into a cycle; who overwrites is a receive of it.
    auto stuck = static_cast<uint32_t>(std::ranges::find_if(waits, [](uint32_t n) { return n > 0; }) - waits.begin());
    for (size_t i = 0; i < ends_.size() || ends_[stuck].sends; ++i) {
      const End& end = ends_[stuck];
      const auto before = std::ranges::find_if(end.after, [&](uint32_t e) { return waits[e] > 0; });
      stuck = before != end.after.end() ? *before : messages_[end.message].send;
    }
    fail(ends_[stuck].at,
         "rankwire's algorithms have one place for a chunk, and what this step receives would overwrite, or be added "
         "to, what is still to be sent");
  }

  /// Messages of neighbouring chunks, and their nodes in that order.
  MscclFlow divide(const std::vector<uint32_t>& order) {
    MscclFlow flow{.chunks = all_chunks(), .ranks = std::vector<std::vector<FlowNode>>(ranks_)};
    std::vector<uint32_t> first_tag(messages_.size());
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> tags;
    for (size_t m = 0; m < messages_.size(); ++m) {
      const auto parts = static_cast<uint32_t>(parts_of(messages_[m]).size());
      uint32_t& next = tags[{messages_[m].from, messages_[m].to}];
      first_tag[m] = std::exchange(next, next + parts);
      flow.divided += parts > 1;
    }
    std::vector<std::pair<uint32_t, uint32_t>> nodes_of(ends_.size());  // first and behind the last, by end
    for (const uint32_t e : order) {
      const End& end = ends_[e];
      const Message& message = messages_[end.message];
      std::vector<FlowNode>& nodes = flow.ranks[end.at.rank];
      FlowNode node{.sends = end.sends,
                    .peer = end.sends ? message.to : message.from,
                    .channel = message.channel,
                    .tag = first_tag[end.message],
                    .block = algorithm_.gpus[end.at.rank].blocks[end.at.block].id,
                    .step = end.at.step};
      for (const uint32_t before : end.after) {
        for (uint32_t n = nodes_of[before].first; n < nodes_of[before].second; ++n) node.after.push_back(n);
      }
      nodes_of[e].first = static_cast<uint32_t>(nodes.size());
      for (const auto& [begin, behind] : parts_of(message)) {
        node.reduces = !end.sends && message.reduces[begin];
        node.chunk = message.data[begin].chunk;
        node.count = behind - begin;
        nodes.push_back(node);
        ++node.tag;
      }
      nodes_of[e].second = static_cast<uint32_t>(nodes.size());
    }
    return flow;
  }

  /// Of neighbouring chunks that are received in the same way: first index and the one behind the last.
  static std::vector<std::pair<uint32_t, uint32_t>> parts_of(const Message& message) {
    std::vector<std::pair<uint32_t, uint32_t>> parts;
    for (uint32_t i = 0; i < message.data.size(); ++i) {
      const bool goes_on = i > 0 && message.data[i].chunk == message.data[i - 1].chunk + 1 &&
                           message.reduces[i] == message.reduces[i - 1];
      if (!goes_on) parts.emplace_back(i, i);
      ++parts.back().second;
    }
    return parts;
  }

  const std::string& path_;
  const MscclAlgorithm& algorithm_;
  const uint32_t ranks_;
  std::vector<std::vector<Place>> places_;                 ///< by rank
  std::vector<std::unordered_map<uint32_t, Slot>> slots_;  ///< by rank and chunk
  std::vector<std::vector<Block>> blocks_;                 ///< by rank
  std::deque<StepPlace> turns_;                            ///< thread blocks that may go on
  std::map<Connection, std::deque<uint32_t>> sent_;        ///< messages that have not been received
  std::map<Connection, StepPlace> receivers_;              ///< who waits for one
  std::vector<Message> messages_;
  std::vector<End> ends_;
};

}  // namespace

MscclFlow follow_msccl(const std::string& path, const MscclAlgorithm& algorithm) {
  return Follower(path, algorithm).follow();
}

}  // namespace rankwire
