#include "converters/param_comms.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "converters/call_writer.h"
#include "converters/file_order.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;
using Ids = CallWriter::Ids;

constexpr int64_t kMostElements = int64_t{1} << 40, kMostParamRanks = 1 << 20;

/// One element of the list, with errors that name it.
class EntryReader {
 public:
  EntryReader(const std::string& path, size_t index, const Json& entry) : path_(path), index_(index), entry_(entry) {}

  ParamEntry read() const {
    if (!entry_.is_object()) fail("an object with \"comms\" or \"compute\" is wanted");
    if (entry_.contains("comms")) return read_call();
    if (entry_.contains("compute")) return read_compute();
    return {};  // markers alone
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: [{}]: {}", path_, index_, fmt::format(format, std::forward<Args>(args)...));
  }

  int64_t integer(const char* key, int64_t most, std::optional<int64_t> otherwise = std::nullopt) const {
    const auto value = entry_.find(key);
    if (value == entry_.end() || value->is_null()) {
      if (otherwise) return *otherwise;
      fail("{} is missing", key);
    }
    if (!value->is_number_integer() || value->get<int64_t>() < 0 || value->get<int64_t>() > most) {
      fail("{} is {}, not 0 to {}", key, value->dump(), most);
    }
    return value->get<int64_t>();
  }
  std::string text(const char* key) const {
    const auto value = entry_.find(key);
    if (value == entry_.end() || !value->is_string()) fail("{} is missing or no text", key);
    return value->get<std::string>();
  }
  std::vector<int64_t> integers(const char* key, int64_t most) const {
    const auto value = entry_.find(key);
    std::vector<int64_t> list;
    if (value == entry_.end() || value->is_null()) return list;
    if (!value->is_array()) fail("{} is no list", key);
    for (const Json& part : *value) {
      if (!part.is_number_integer() || part.get<int64_t>() < 0 || part.get<int64_t>() > most) {
        fail("{}: {} is not 0 to {}", key, part.dump(), most);
      }
      list.push_back(part.get<int64_t>());
    }
    return list;
  }
  int64_t element() const {
    const std::string type = text("dtype");
    const auto size = element_size(type);
    if (!size) fail("dtype \"{}\" is no type of PyTorch's", type);
    return *size;
  }
  std::string dumped(const char* key) const {
    const auto value = entry_.find(key);
    return value == entry_.end() ? "" : value->dump();
  }

  ParamEntry read_call() const;
  ParamEntry read_compute() const;

  const std::string& path_;
  size_t index_;
  const Json& entry_;
};

/// What moves nothing: PARAM's own "init", and what PyTorch records around coalesced calls.
bool is_marker(std::string_view name) {
  return name == "init" || name.find("oalesc") != name.npos;
}

ParamEntry EntryReader::read_call() const {
  ParamEntry entry{.name = text("comms")};
  entry.request = dumped("pg_id") + " " + dumped("req");
  entry.world_size = integer("world_size", kMostParamRanks, 0);
  PytorchCall& call = entry.call;
  call.kind = call_kind(entry.name);
  call.group = entry_.contains("pg_id") ? dumped("pg_id") : "";
  call.ranks = integers("global_ranks", kMostParamRanks);
  if (entry.name.find("batch") != entry.name.npos) {
    entry.kind = ParamEntry::Kind::kBatchEnd;
    return entry;
  }
  if (call.kind == ActionKind::kOther) {
    entry.known = is_marker(entry.name);
    return entry;
  }
  entry.kind = call.kind == ActionKind::kWait ? ParamEntry::Kind::kWait : ParamEntry::Kind::kCall;
  if (call.kind == ActionKind::kWait || call.kind == ActionKind::kBarrier) return entry;
  const int64_t size = element();
  call.input = Bytes(integer("in_msg_size", kMostElements) * size);
  call.output = Bytes(integer("out_msg_size", kMostElements, 0) * size);
  call.input_split = integers("in_split", kMostElements);
  call.output_split = integers("out_split", kMostElements);
  call.rank = integer("root", kMostParamRanks, -1);
  if (call.kind == ActionKind::kSend) call.peer = integer("dst_rank", kMostParamRanks);
  if (call.kind == ActionKind::kReceive) call.peer = integer("src_rank", kMostParamRanks);
  const auto batched = entry_.find("use_batch");
  entry.batched = batched != entry_.end() && *batched == true;
  return entry;
}

/// The work of a matrix product, or of looking rows up in embedding tables.
ParamEntry EntryReader::read_compute() const {
  ParamEntry entry{.kind = ParamEntry::Kind::kCompute, .name = text("compute")};
  constexpr int64_t kMost = 1 << 20;
  const int64_t count = integer("count", kMost, 1);
  if (entry.name == "gemm") {
    const bool square = entry_.contains("mm_dim");
    const int64_t m = integer(square ? "mm_dim" : "mm0_dim0", kMost);
    const int64_t k = square ? m : integer("mm0_dim1", kMost);
    const int64_t n = square ? m : integer("mm1_dim1", kMost);
    const double operations =
        2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) * static_cast<double>(count);
    if (operations > 9e18) fail("a product of {} operations", operations);
    entry.operations = 2 * m * k * n * count;
    entry.memory = Bytes((m * k + k * n + m * n) * element());
  } else if (entry.name == "emb_lookup") {
    const int64_t rows = integer("batch_size", kMost) * integer("num_emb_tables", kMost, 1);
    const double bytes = static_cast<double>(rows) * static_cast<double>(integer("emb_dim", kMost)) * 4 *
                         static_cast<double>(integer("bag_size", kMost) + 1) * static_cast<double>(count);
    if (bytes > 1e15) fail("a look-up of {} bytes", bytes);
    // The rows of each bag are read, and their sum is written; floats.
    entry.memory = Bytes(static_cast<int64_t>(bytes));
  } else {
    fail("compute \"{}\" is neither gemm nor emb_lookup", entry.name);
  }
  return entry;
}

class ParamRank {
 public:
  ParamRank(const std::string& path, uint32_t rank, int64_t ranks, const std::vector<ParamEntry>& entries,
            NodeWriter& writer)
      : entries_(entries),
        writer_(writer),
        calls_({.path = path, .rank = rank, .world_size = ranks, .groups = {}}, writer) {}

  void write() {
    for (const ParamEntry& entry : entries_) {
      if (entry.kind == ParamEntry::Kind::kWait) awaited_.insert(entry.request);
      if (!entry.call.group.empty()) calls_.define(entry.call);
    }
    calls_.write_groups();
    for (const ParamEntry& entry : entries_) write(entry);
  }

 private:
  void write(const ParamEntry& entry) {
    switch (entry.kind) {
      case ParamEntry::Kind::kCompute:
        last_ = {writer_.compute(entry.name, 0, entry.operations, entry.memory, last_)};
        break;
      case ParamEntry::Kind::kWait:
        if (const auto call = running_.find(entry.request); call != running_.end()) {
          last_.push_back(call->second);
          running_.erase(call);
        }
        break;
      case ParamEntry::Kind::kBatchEnd:
        last_.insert(last_.end(), batch_.begin(), batch_.end());
        batch_.clear();
        break;
      case ParamEntry::Kind::kCall: {
        const NodeWriter::Id id = calls_.write(entry.call, entry.name, {}, std::nullopt, last_);
        if (entry.batched) {
          batch_.push_back(id);
        } else if (awaited_.contains(entry.request)) {
          running_[entry.request] = id;
        } else {
          last_ = {id};
        }
        break;
      }
      case ParamEntry::Kind::kNothing:
        break;
    }
  }

  const std::vector<ParamEntry>& entries_;
  NodeWriter& writer_;
  CallWriter calls_;
  std::set<std::string> awaited_;
  std::map<std::string, NodeWriter::Id> running_;
  Ids last_, batch_;
};

}  // namespace

std::vector<ParamEntry> parse_param_comms(const std::string& path, std::string_view json) {
  Json list;
  try {
    list = Json::parse(json);
  } catch (const Json::parse_error& error) {
    fail_input("{}: byte {}: no JSON", path, error.byte);
  } catch (const Json::out_of_range&) {
    fail_input("{}: a number is larger than any double", path);
  }
  if (!list.is_array()) fail_input("{}: no list of calls", path);
  std::vector<ParamEntry> entries;
  for (size_t i = 0; i < list.size(); ++i) entries.push_back(EntryReader(path, i, list[i]).read());
  return entries;
}

namespace {

/// What of a rank's list is not in its trace, or cannot be right. `ranks` are those that have a trace.
void warn_of(const std::string& path, const std::vector<ParamEntry>& entries, int64_t ranks, Warnings& warnings) {
  const int64_t world = std::ranges::max_element(entries, {}, &ParamEntry::world_size)->world_size;
  if (world > ranks) warnings.push_back(fmt::format("{}: of {} ranks, but there are {} traces", path, world, ranks));
  std::map<std::string, uint64_t> unknown;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].known) ++unknown[entries[i].name];
    const int64_t peer = entries[i].call.peer;
    if (peer < 0 || peer < std::max(world, ranks)) continue;
    if (world > 0) fail_input("{}: [{}]: {} names rank {} of {}", path, i, entries[i].name, peer, world);
    warnings.push_back(
        fmt::format("{}: [{}]: {} names rank {}, but there are {} traces", path, i, entries[i].name, peer, ranks));
  }
  for (const auto& [name, calls] : unknown)
    warnings.push_back(fmt::format("{}: \"{}\" is no call that is known; {} of them are left out", path, name, calls));
}

}  // namespace

Conversion convert_param_comms(std::vector<std::string> files, const std::filesystem::path& folder,
                               ConversionProgress& progress) {
  std::ranges::sort(files, natural_less);
  TraceFolder traces(folder);
  Conversion conversion{.prefix = traces.prefix()};
  progress.total = files.size();
  for (uint32_t rank = 0; rank < files.size(); ++rank) {
    const std::vector<ParamEntry> entries = parse_param_comms(files[rank], read_text_file(files[rank]));
    NodeWriter writer(trace_file(conversion.prefix, rank));
    ParamRank(files[rank], rank, static_cast<int64_t>(files.size()), entries, writer).write();
    if (writer.counts().nodes == 0) fail_input("{}: no call and no computation", files[rank]);
    warn_of(files[rank], entries, static_cast<int64_t>(files.size()), conversion.warnings);
    conversion.add(writer);
    ++progress.done;
  }
  traces.keep();
  return conversion;
}

}  // namespace rankwire
