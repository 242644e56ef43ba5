// GOAL as LogGOPSim's txt2bin and schedgen write it: the ranks one after another, each as numbers of a fixed layout.
//
// Source: spcl/LogGOPSim, src/LogGOPSim/Parser.hpp, Graph::serialize_mmap. Little-endian, nothing is aligned:
//
//   u64 4223 | u32 ranks | u8 cpus | u8 nics | ranks x { u64 begin, u64 end }, both counted from byte 8
//   of each rank: u32 operations | u32 roots | roots x u32 | operations x 39 bytes | the lists of later operations, u32
//   an operation: u32 dependencies | u8 type | u32 peer | u64 size | u32 tag | u8 cpu | u8 nic
//                 | u32 later | u32 place in the lists | u32 later than its begin | u32 place in the lists
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "base/error.h"
#include "converters/goal.h"

namespace rankwire {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kCookie = 4223, kUsedUp = 2342;  // the latter after a simulation with --save-mem
constexpr uint64_t kCounted = 8;                    // from where offsets are counted
constexpr uint64_t kOperationSize = 39;

class GoalBinary {
 public:
  GoalBinary(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  uint32_t read(const std::function<void(uint32_t, const GoalRank&)>& take) {
    if (value<uint64_t>(0, "the cookie") == kUsedUp) {
      fail(0, "a simulation with --save-mem has used this schedule up; make it again with txt2bin");
    }
    const auto ranks = value<uint32_t>(kCounted, "the number of ranks");
    if (ranks == 0 || ranks > kMostGoalRanks) fail(kCounted, "{} ranks, not 1 to {}", ranks, kMostGoalRanks);
    for (uint32_t rank = 0; rank < ranks; ++rank) take(ranks, read_rank(ranks, rank));
    return ranks;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(uint64_t offset, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: byte {}: {}", path_, offset, fmt::format(format, std::forward<Args>(args)...));
  }

  template <class Value>
  Value value(uint64_t offset, const char* what) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(Value)) {
      fail(offset, "the file has {} bytes and ends before {}", bytes_.size(), what);
    }
    Value read;
    std::memcpy(&read, bytes_.data() + offset, sizeof read);
    return read;
  }

  GoalRank read_rank(uint32_t ranks, uint32_t rank) {
    const uint64_t place = kCounted + 6 + uint64_t{16} * rank;
    const auto counted = value<uint64_t>(place, "where a rank begins");
    if (counted > bytes_.size()) fail(place, "rank {} begins behind the end of the file", rank);
    const uint64_t begin = kCounted + counted;
    const auto count = value<uint32_t>(begin, "the number of operations");
    const auto roots = value<uint32_t>(begin + 4, "the number of operations without dependencies");
    const uint64_t operations = begin + 8 + uint64_t{4} * roots, lists = operations + kOperationSize * count;
    if (lists > bytes_.size()) fail(begin, "{} operations of rank {} do not fit in the file", count, rank);
    GoalRank read{.rank = rank, .operations = {}};
    read.operations.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      read.operations[i] = read_operation(operations + kOperationSize * i, ranks, rank);
      read.operations[i].label = fmt::format("operation {}", i);
    }
    Later begun(count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t at = operations + kOperationSize * i + 23;
      for (const uint32_t later : read_list(at, lists, count)) read.operations[later].after.push_back(i);
      begun[i] = read_list(at + 8, lists, count);
    }
    follow_begun(begun, read, begin);
    return read;
  }

  using Later = std::vector<std::vector<uint32_t>>;  // by operation: those that may begin when it has begun

  GoalOperation read_operation(uint64_t at, uint32_t ranks, uint32_t rank) const {
    using enum GoalOperation::Kind;
    GoalOperation operation;
    const auto type = value<uint8_t>(at + 4, "an operation");
    if (type < 1 || type > 3) fail(at + 4, "an operation of type {}, not 1 (send), 2 (recv) or 3 (calc)", type);
    operation.kind = type == 1 ? kSend : type == 2 ? kReceive : kCompute;
    operation.peer = value<uint32_t>(at + 5, "a peer");
    operation.amount = value<uint64_t>(at + 9, "a size");
    operation.tag = value<uint32_t>(at + 17, "a tag");
    operation.cpu = value<uint8_t>(at + 21, "a cpu");
    if (operation.kind == kCompute) {
      if (operation.amount > kMostGoalTime)
        fail(at + 9, "a calc of {} ns, not 0 to {}", operation.amount, kMostGoalTime);
      return operation;
    }
    if (operation.amount > kMostGoalBytes) fail(at + 9, "{} bytes, not 0 to {}", operation.amount, kMostGoalBytes);
    if (operation.peer == UINT32_MAX) fail(at + 5, "a receive from any source has no counterpart in Chakra");
    if (operation.tag == UINT32_MAX) fail(at + 17, "a receive with any tag has no counterpart in Chakra");
    if (operation.peer >= ranks) fail(at + 5, "peer {} of {} ranks", operation.peer, ranks);
    if (operation.peer == rank) fail(at + 5, "rank {} communicates with itself", rank);
    if (operation.tag > kMostGoalTag) fail(at + 17, "tag {}, not 0 to {}", operation.tag, kMostGoalTag);
    return operation;
  }

  std::vector<uint32_t> read_list(uint64_t at, uint64_t lists, uint32_t operations) const {
    const auto count = value<uint32_t>(at, "a number of later operations");
    const uint64_t begin = lists + uint64_t{4} * value<uint32_t>(at + 4, "the place of later operations");
    std::vector<uint32_t> list;
    if (count == 0) return list;  // the place of an empty list is anything
    value<uint32_t>(begin + uint64_t{4} * (count - 1), "the later operations");
    for (uint64_t i = 0; i < count; ++i) {
      list.push_back(value<uint32_t>(begin + 4 * i, "a later operation"));
      if (list.back() >= operations) fail(begin + 4 * i, "operation {} of {}", list.back(), operations);
    }
    return list;
  }

  /// Who may begin when another has begun depends on all that the other depends on.
  void follow_begun(const Later& begun, GoalRank& rank, uint64_t offset) const {
    std::vector<uint32_t> open(begun.size()), ready;
    for (const auto& list : begun) {
      for (const uint32_t later : list) ++open[later];
    }
    for (uint32_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) ready.push_back(i);
    }
    size_t done = 0;
    for (; done < ready.size(); ++done) {
      const std::vector<uint32_t>& before = rank.operations[ready[done]].after;
      for (const uint32_t later : begun[ready[done]]) {
        std::vector<uint32_t>& after = rank.operations[later].after;
        for (const uint32_t operation : before) {
          if (operation != later) after.push_back(operation);
        }
        if (--open[later] == 0) ready.push_back(later);
      }
    }
    if (done < begun.size()) fail(offset, "rank {}: operations wait for each other's begin", rank.rank);
  }

  const std::string& path_;
  std::string_view bytes_;
};

}  // namespace

bool is_goal_binary(std::string_view bytes) {
  uint64_t cookie;
  if (bytes.size() < sizeof cookie) return false;
  std::memcpy(&cookie, bytes.data(), sizeof cookie);
  return cookie == kCookie || cookie == kUsedUp;
}

uint32_t parse_goal_binary(const std::string& path, std::string_view bytes,
                           const std::function<void(uint32_t, const GoalRank&)>& take) {
  return GoalBinary(path, bytes).read(take);
}

}  // namespace rankwire
