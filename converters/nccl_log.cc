#include "converters/nccl_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>

#include "converters/node_writer.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

using Words = std::vector<std::string_view>;

/// Bytes of an element of ncclDataType_t, in its order: int8, uint8, int32, uint32, int64, uint64, half, float, double,
/// bfloat16, float8 e4m3 and e5m2.
constexpr std::array<int64_t, 12> kElementSizes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/// What stands behind a word; "" where it does not occur.
std::string_view behind(std::span<const std::string_view> words, std::string_view key) {
  const auto at = std::ranges::find(words, key);
  return at == words.end() || at + 1 == words.end() ? std::string_view() : *(at + 1);
}

std::optional<uint64_t> hexadecimal(std::string_view word) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

class NcclLog {
 public:
  NcclLog(const std::string& path, NcclJob& job) : path_(path), job_(job), lines_(path) {}

  void read(Warnings& warnings) {
    std::string_view line;
    while (lines_.next(line)) {
      const size_t info = line.find("NCCL INFO ");
      if (info == line.npos) continue;
      const bool call = line.find(": opCount ", info) != line.npos;
      if (!call && line.find("- Init ", info) == line.npos) continue;
      const Words origin = words_of(line.substr(0, info)), words = words_of(line.substr(info + 10));
      const bool mixed = line.find("NCCL INFO ", info + 1) != line.npos;  // of two processes
      if (call && (mixed || !add_call(origin, words))) {
        if (broken_++ == 0) first_broken_ = lines_.number();
      }
      if (!call) add_member(origin, words);
    }
    if (broken_ > 0) {
      warnings.push_back(fmt::format("{}: {} lines of calls are broken or of unknown form and left out, first line {}",
                                     path_, broken_, first_broken_));
    }
  }

 private:
  /// Who writes: "host:pid:tid [device]" is the end of what stands in front.
  struct Origin {
    uint32_t process = 0;
    int64_t device = -1;
  };

  std::optional<Origin> origin_of(const Words& words) {
    if (words.size() < 2) return std::nullopt;
    std::string_view device = words.back(), process = words[words.size() - 2];
    if (!device.starts_with('[') || !device.ends_with(']')) return std::nullopt;
    device = device.substr(1, device.size() - 2);
    const size_t thread = process.rfind(':');
    if (thread == process.npos || process.find(':') == thread) return std::nullopt;
    return Origin{job_.process(process.substr(0, thread)), number_in<int64_t>(device).value_or(-1)};
  }

  /// What is not as expected is passed over: the calls then say less.
  void add_member(const Words& before, const Words& words) {
    const auto origin = origin_of(before);
    const auto rank = number_in<int64_t>(behind(words, "rank")), ranks = number_in<int64_t>(behind(words, "nranks"));
    const std::string_view handle = behind(words, "comm");
    if (!origin || !rank || !ranks || handle.empty()) return;
    const std::string identity = identity_of(*origin, words);
    const NcclMember& known = job_.member(origin->process, handle, path_);
    const bool same = known.rank == *rank && known.ranks == *ranks && known.communicator == identity;
    if (known.ranks > 0 && !same) job_.forget(origin->process, handle);
    NcclMember& member = job_.member(origin->process, handle, path_);
    member.rank = *rank;
    member.ranks = *ranks;
    member.device = number_in<int64_t>(behind(words, "cudaDev")).value_or(origin->device);
    member.communicator = identity;
  }

  /// What all members log alike; "" where they log no such thing.
  std::string identity_of(const Origin& origin, const Words& words) {
    if (const std::string_view id = behind(words, "commId"); !id.empty()) return std::string(id);
    const std::string_view parent = behind(words, "parent"), color = behind(words, "color");
    if (parent.empty() || color.empty()) return "";
    // A part of another has no id of its own: those of one colour and turn are one.
    std::string_view turn = behind(words, "childCount");
    if (turn.empty()) turn = behind(words, "splitCount");
    return fmt::format("{}, part {} of colour {}", job_.member(origin.process, parent, path_).communicator, turn,
                       color);
  }

  bool add_call(const Words& before, const Words& words) {
    const auto origin = origin_of(before);
    const std::string_view name = words.front().substr(0, words.front().find(':'));
    const auto group = hexadecimal(behind(words, "opCount"));
    const auto count = number_in<uint64_t>(behind(words, "count"));
    const auto type = number_in<size_t>(behind(words, "datatype"));
    const auto root = number_in<int64_t>(behind(words, "root"));
    const std::string_view handle = behind(words, "comm"), stream = behind(words, "stream");
    const std::string_view size = behind(words, handle);
    const ActionKind kind = call_kind(name);
    const bool complete = origin && group && count && type && root && !stream.empty() && size.starts_with("[nranks=");
    if (!complete || *type >= kElementSizes.size() || *root < 0) return false;
    if (!is_nccl_call(kind)) return false;
    const auto ranks = number_in<int64_t>(size.substr(8, size.size() - 9));
    if (!ranks || !size.ends_with(']')) return false;
    NcclMember& member = job_.member(origin->process, handle, path_);
    if (member.ranks == 0) {
      member.ranks = *ranks;
      member.device = origin->device;
      member.rank = number_in<int64_t>(behind(words, "globalrank")).value_or(-1);
    }
    if (member.ranks != *ranks) {
      lines_.fail("communicator {} has {} ranks, but {} before", handle, *ranks, member.ranks);
    }
    if (*root >= *ranks) return false;
    const int64_t element = kElementSizes[*type];
    if (*count > static_cast<uint64_t>(kMostOperationBytes / element)) {
      lines_.fail("count {} of {} B each is too large: a call has at most {} B (2^50)", *count, element,
                  kMostOperationBytes);
    }
    job_.add({.member = job_.index_of(member),
              .kind = kind,
              .chain = job_.chain(origin->process, stream),
              .root = *root,
              .bytes = static_cast<int64_t>(*count) * element,
              .group = *group + 1});
    return true;
  }

  const std::string& path_;
  NcclJob& job_;
  StreamedLines lines_;
  uint64_t broken_ = 0, first_broken_ = 0;
};

}  // namespace

void read_nccl_log(const std::string& path, NcclJob& job, Warnings& warnings) {
  NcclLog(path, job).read(warnings);
}

}  // namespace rankwire
