#include "converters/nccl_inspector.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "converters/node_writer.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

namespace dom = simdjson::dom;

/// A record is a few hundred bytes; a verbose one has some for each channel.
constexpr size_t kLongestRecord = 16u << 20;

/// Whose calls follow.
struct Context {
  uint32_t process = 0;
  std::string communicator;
  int64_t rank = 0, ranks = 0;
};

class InspectorRecords {
 public:
  InspectorRecords(const std::string& path, NcclJob& job, Conversion& conversion)
      : path_(path), job_(job), conversion_(conversion), lines_(path) {}

  void read() {
    std::string record;
    while (next(record)) take(record);
    if (lost_ > 0) {
      conversion_.warnings.push_back(fmt::format(
          "{}: the plug-in says that it lost {} calls: larger rings (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE) or "
          "shorter intervals keep them",
          path_, lost_));
    }
    if (rooted_ > 0) {
      conversion_.assumptions.push_back(fmt::format(
          "{}: {} broadcasts, reductions and the like have rank 0 of their communicator as root, which is not "
          "recorded",
          path_, rooted_));
    }
  }

 private:
  /// The next object, whether on one line or printed over several.
  bool next(std::string& record) {
    record.clear();
    int64_t depth = 0;
    bool in_string = false, escaped = false;
    for (std::string_view line; lines_.next(line);) {
      for (const char c : line) {
        if (escaped) {
          escaped = false;
        } else if (in_string) {
          escaped = c == '\\';
          in_string = c != '"';
        } else {
          in_string = c == '"';
          depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        }
      }
      record += line;
      record += '\n';
      if (record.size() > kLongestRecord) lines_.fail("a record of more than {} MiB", kLongestRecord >> 20);
      if (depth < 0) lines_.fail("a }} without its {{");
      if (depth == 0 && record.find('{') != record.npos) return true;
      if (depth == 0) record.clear();
    }
    if (depth > 0) lines_.fail("the file ends within a record");
    return false;
  }

  void take(const std::string& text) {
    dom::element record;
    if (const auto error = parser_.parse(text).get(record); error != simdjson::SUCCESS) {
      lines_.fail("{}", simdjson::error_message(error));
    }
    if (dom::element header; record["header"].get(header) == simdjson::SUCCESS) take_header(header, record);
    if (dom::element stats; record["dump_stats"].get(stats) == simdjson::SUCCESS) {
      for (const char* key : {"coll_dropped_since_last_dump", "p2p_dropped_since_last_dump"}) {
        if (int64_t lost; stats[key].get(lost) == simdjson::SUCCESS && lost > 0) lost_ += static_cast<uint64_t>(lost);
      }
    }
    if (dom::element call; record["coll_perf"].get(call) == simdjson::SUCCESS) take_call(call, "coll");
    if (dom::element call; record["p2p_perf"].get(call) == simdjson::SUCCESS) take_call(call, "p2p");
  }

  void take_header(dom::element header, dom::element record) {
    dom::element metadata;
    if (record["metadata"].get(metadata) != simdjson::SUCCESS) lines_.fail("a header without metadata");
    context_.emplace();
    context_->communicator = text(header, "header", "id");
    context_->rank = integer(header, "header", "rank", 1 << 20);
    context_->ranks = integer(header, "header", "n_ranks", 1 << 20);
    context_->process = job_.process(
        fmt::format("{}:{}", text(metadata, "metadata", "hostname"), integer(metadata, "metadata", "pid", INT64_MAX)));
  }

  void take_call(dom::element call, const std::string& family) {
    if (!context_) lines_.fail("a call in front of the first header, which says whose it is");
    const std::string place = family + "_perf";
    const std::string_view name = text(call, place, family);
    const ActionKind kind = call_kind(name);
    const bool message = is_message(kind);
    if (!is_nccl_call(kind)) lines_.fail("{}.{} \"{}\" is no call of NCCL's", place, family, name);
    NcclMember& member =
        job_.member(context_->process, fmt::format("{} {}", context_->communicator, context_->rank), path_);
    member.communicator = context_->communicator;
    member.rank = context_->rank;
    member.ranks = context_->ranks;
    NcclCall read{.member = job_.index_of(member), .kind = kind, .root = 0};
    read.bytes = integer(call, place, family + "_msg_size_bytes", kMostOperationBytes);
    read.micros = static_cast<uint64_t>(integer(call, place, family + "_exec_time_us", INT64_MAX));
    std::string chain = fmt::format("{} {}", context_->communicator, context_->rank);
    if (message) {
      read.root = integer(call, place, "p2p_peer", context_->ranks - 1);
      chain += fmt::format(" {} {}", name, read.root);
    }
    rooted_ += is_rooted(kind) ? 1 : 0;
    read.chain = job_.chain(context_->process, chain);
    job_.add(read);
  }

  int64_t integer(dom::element object, std::string_view place, const std::string& key, int64_t most) const {
    int64_t value;
    if (object[key].get(value) != simdjson::SUCCESS || value < 0 || value > most) {
      lines_.fail("{}.{} is missing, or no integer of 0 to {}", place, key, most);
    }
    return value;
  }
  std::string_view text(dom::element object, std::string_view place, const std::string& key) const {
    std::string_view value;
    if (object[key].get(value) != simdjson::SUCCESS) lines_.fail("{}.{} is missing or no text", place, key);
    return value;
  }

  const std::string& path_;
  NcclJob& job_;
  Conversion& conversion_;
  StreamedLines lines_;
  dom::parser parser_;
  std::optional<Context> context_;
  uint64_t lost_ = 0, rooted_ = 0;
};

}  // namespace

void read_nccl_inspector(const std::string& path, NcclJob& job, Conversion& conversion) {
  InspectorRecords(path, job, conversion).read();
}

}  // namespace rankwire
