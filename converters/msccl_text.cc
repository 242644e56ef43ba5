#include "converters/msccl_text.h"

#include <expat.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

constexpr uint32_t kMostGpus = 1 << 14;
constexpr uint32_t kMostChunks = 1 << 20;
constexpr uint32_t kMostChannels = 256;

struct NamedCollective {
  const char* text;
  MscclCollective collective;
};
constexpr std::array<NamedCollective, 6> kMscclCollectives = {{{"allreduce", MscclCollective::kAllReduce},
                                                               {"allgather", MscclCollective::kAllGather},
                                                               {"reduce_scatter", MscclCollective::kReduceScatter},
                                                               {"alltoall", MscclCollective::kAllToAll},
                                                               {"broadcast", MscclCollective::kBroadcast},
                                                               {"reduce", MscclCollective::kReduce}}};

/// A type of step; what it does is in MscclStep.
struct StepType {
  const char* text;
  bool receives, reduces, writes, sends;
};
constexpr std::array<StepType, 9> kStepTypes = {{{"nop", false, false, false, false},
                                                 {"s", false, false, false, true},
                                                 {"r", true, false, true, false},
                                                 {"rcs", true, false, true, true},
                                                 {"rrs", true, true, false, true},
                                                 {"rrc", true, true, true, false},
                                                 {"rrcs", true, true, true, true},
                                                 {"cpy", false, false, true, false},
                                                 {"re", false, true, true, false}}};

/// Takes elements as expat reports them.
class AlgorithmReader {
 public:
  AlgorithmReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  MscclAlgorithm read() {
    const std::unique_ptr<std::remove_pointer_t<XML_Parser>, decltype(&XML_ParserFree)> parser(
        XML_ParserCreate(nullptr), &XML_ParserFree);
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(
        parser_,
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<AlgorithmReader*>(self)->guarded(
              [&](AlgorithmReader& reader) { reader.begin(name, attributes); });
        },
        [](void* self, const XML_Char*) { --static_cast<AlgorithmReader*>(self)->depth_; });
    // What an algorithm needs no document type for, entities, is what makes short texts long.
    XML_SetStartDoctypeDeclHandler(parser_, [](void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
      static_cast<AlgorithmReader*>(self)->guarded(
          [](AlgorithmReader& reader) { reader.fail("an algorithm has no document type"); });
    });
    const XML_Status status = XML_Parse(parser_, text_.data(), static_cast<int>(text_.size()), XML_TRUE);
    if (failure_) std::rethrow_exception(failure_);
    if (status != XML_STATUS_OK) fail("no XML: {}", XML_ErrorString(XML_GetErrorCode(parser_)));
    check();
    return std::move(algorithm_);
  }

 private:
  // No exception passes through expat.
  template <class Do>
  void guarded(Do action) {
    if (failure_) return;
    try {
      action(*this);
    } catch (...) {
      failure_ = std::current_exception();
      XML_StopParser(parser_, XML_FALSE);
    }
  }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(XML_GetCurrentLineNumber(parser_), format, std::forward<Args>(args)...);
  }
  template <class... Args>
  [[noreturn]] void fail_at(uint64_t line, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}:{}: {}", path_, line, fmt::format(format, std::forward<Args>(args)...));
  }

  void begin(std::string_view element, const XML_Char** attributes) {
    constexpr std::array<std::string_view, 4> kElements = {"algo", "gpu", "tb", "step"};
    if (depth_ >= kElements.size() || element != kElements[depth_]) {
      fail("<{}> stands where {} is to be: an algorithm is <algo> of <gpu> of <tb> of <step>", element,
           depth_ < kElements.size() ? fmt::format("<{}>", kElements[depth_]) : "nothing");
    }
    attributes_ = attributes;
    element_ = element;
    switch (depth_++) {
      case 0:
        return read_algorithm();
      case 1:
        return read_gpu();
      case 2:
        return read_block();
      default:
        return read_step();
    }
  }

  void read_algorithm() {
    algorithm_.name = text("name").value_or("");
    algorithm_.protocol = text("proto").value_or("");
    const std::string_view coll = required("coll");
    const auto known = std::ranges::find(kMscclCollectives, coll, &NamedCollective::text);
    if (known == kMscclCollectives.end())
      fail("coll is \"{}\", not allreduce, allgather, reduce_scatter, alltoall, broadcast or reduce", coll);
    algorithm_.collective = known->collective;
    algorithm_.gpus.resize(number("ngpus", 2, kMostGpus));
    algorithm_.chunks = number("nchunksperloop", 1, kMostChunks);
    algorithm_.in_place = text("inplace") && number("inplace", 0, 1) == 1;
    const auto gpus = static_cast<uint32_t>(algorithm_.gpus.size());
    algorithm_.root = text("root") ? number("root", 0, gpus - 1) : 0;
    const bool divided = algorithm_.collective == MscclCollective::kAllGather ||
                         algorithm_.collective == MscclCollective::kReduceScatter ||
                         algorithm_.collective == MscclCollective::kAllToAll;
    if (divided && algorithm_.chunks % gpus != 0)
      fail("nchunksperloop is {}, which {} gpus cannot share equally", algorithm_.chunks, gpus);
  }

  void read_gpu() {
    rank_ = number("id", 0, static_cast<uint32_t>(algorithm_.gpus.size()) - 1);
    if (!seen_.insert(rank_).second) fail("gpu {} stands here for the second time", rank_);
    gpu().scratch = text("s_chunks") ? number("s_chunks", 0, kMostChunks) : 0;
    block_of_id_.clear();
    senders_.clear();
    receivers_.clear();
  }

  void read_block() {
    MscclBlock block{.id = number("id", 0, kMostChunks),
                     .send = peer("send"),
                     .receive = peer("recv"),
                     .channel = text("chan") ? number("chan", 0, kMostChannels - 1) : 0,
                     .line = XML_GetCurrentLineNumber(parser_)};
    if (!block_of_id_.try_emplace(block.id, gpu().blocks.size()).second)
      fail("gpu {} has a thread block {} already", rank_, block.id);
    if (block.send && !senders_.emplace(*block.send, block.channel).second)
      fail("another thread block of gpu {} sends to {} on channel {}", rank_, *block.send, block.channel);
    if (block.receive && !receivers_.emplace(*block.receive, block.channel).second)
      fail("another thread block of gpu {} receives from {} on channel {}", rank_, *block.receive, block.channel);
    gpu().blocks.push_back(std::move(block));
  }

  void read_step() {
    MscclBlock& block = gpu().blocks.back();
    if (const uint32_t index = number("s", 0, kMostChunks); index != block.steps.size())
      fail("step {} of a thread block is called {}", block.steps.size(), index);
    const std::string_view name = required("type");
    const auto type = std::ranges::find(kStepTypes, name, &StepType::text);
    if (type == kStepTypes.end()) fail("\"{}\" is no type of step: s, r, rcs, rrs, rrc, rrcs, cpy, re or nop", name);
    MscclStep step{.receives = type->receives,
                   .reduces = type->reduces,
                   .writes = type->writes,
                   .sends = type->sends,
                   .line = XML_GetCurrentLineNumber(parser_)};
    if (step.sends && !block.send) fail("type {} sends, but the thread block has no peer to send to", name);
    if (step.receives && !block.receive) fail("type {} receives, but the thread block has no peer", name);
    const bool reads = step.reduces || (!step.receives && (step.sends || step.writes));
    if (reads) step.source = place("srcbuf", "srcoff");
    if (step.writes) step.destination = place("dstbuf", "dstoff");
    if (reads || step.writes) step.count = number("cnt", 1, kMostChunks);
    // Steps further on may be waited for: what `wait` names is looked at when all are known.
    if (text("depid").value_or("-1") != "-1")
      step.wait = MscclWait{.block = number("depid", 0, kMostChunks), .step = number("deps", 0, kMostChunks)};
    block.steps.push_back(step);
  }

  /// Turns ids into indexes once all thread blocks of the GPU are known.
  void resolve_waits(uint32_t rank) {
    MscclGpu& gpu = algorithm_.gpus[rank];
    std::unordered_map<uint32_t, uint32_t> index;
    for (uint32_t b = 0; b < gpu.blocks.size(); ++b) index.emplace(gpu.blocks[b].id, b);
    for (MscclBlock& block : gpu.blocks) {
      for (MscclStep& step : block.steps) {
        if (!step.wait) continue;
        const auto other = index.find(step.wait->block);
        if (other == index.end()) fail_at(step.line, "depid is {}, gpu {} has no such block", step.wait->block, rank);
        if (step.wait->step >= gpu.blocks[other->second].steps.size())
          fail_at(step.line, "deps is {}, but thread block {} has {} steps", step.wait->step, other->first,
                  gpu.blocks[other->second].steps.size());
        step.wait->block = other->second;
      }
    }
  }

  void check() {
    for (uint32_t rank = 0; rank < algorithm_.gpus.size(); ++rank) {
      if (!seen_.contains(rank)) fail("gpu {} of {} is missing", rank, algorithm_.gpus.size());
      resolve_waits(rank);
    }
  }

  MscclGpu& gpu() { return algorithm_.gpus[rank_]; }

  std::optional<std::string_view> text(std::string_view name) const {
    for (const XML_Char** at = attributes_; *at != nullptr; at += 2) {
      if (name == at[0]) return at[1];
    }
    return std::nullopt;
  }

  std::string_view required(const char* name) const {
    const auto value = text(name);
    if (!value) fail("<{}> has no {}", element_, name);
    return *value;
  }

  uint32_t number(const char* name, uint32_t least, uint32_t most) const {
    const std::string_view value = required(name);
    const auto found = number_in<uint32_t>(value);
    if (!found || *found < least || *found > most) fail("{} is \"{}\", not {} to {}", name, value, least, most);
    return *found;
  }

  std::optional<uint32_t> peer(const char* name) const {
    if (text(name).value_or("-1") == "-1") return std::nullopt;
    const uint32_t peer = number(name, 0, static_cast<uint32_t>(algorithm_.gpus.size()) - 1);
    if (peer == rank_) fail("{} is {}, the gpu itself", name, peer);
    return peer;
  }

  MscclPlace place(const char* buffer, const char* offset) const {
    const std::string_view name = required(buffer);
    if (name != "i" && name != "o" && name != "s") fail("{} is \"{}\", not i, o or s", buffer, name);
    return {.buffer = name == "i"   ? MscclBuffer::kInput
                      : name == "o" ? MscclBuffer::kOutput
                                    : MscclBuffer::kScratch,
            .offset = number(offset, 0, kMostChunks)};
  }

  const std::string& path_;
  std::string_view text_;
  XML_Parser parser_ = nullptr;
  std::exception_ptr failure_;
  size_t depth_ = 0;
  std::string_view element_;
  const XML_Char** attributes_ = nullptr;
  MscclAlgorithm algorithm_;
  uint32_t rank_ = 0;  ///< of the gpu at hand
  std::set<uint32_t> seen_;
  std::unordered_map<uint32_t, size_t> block_of_id_;
  std::set<std::pair<uint32_t, uint32_t>> senders_, receivers_;  ///< peer and channel
};

}  // namespace

const char* to_string(MscclCollective collective) {
  switch (collective) {
    case MscclCollective::kAllReduce:
      return "all_reduce";
    case MscclCollective::kAllGather:
      return "all_gather";
    case MscclCollective::kReduceScatter:
      return "reduce_scatter";
    case MscclCollective::kAllToAll:
      return "all_to_all";
    case MscclCollective::kBroadcast:
      return "broadcast";
    case MscclCollective::kReduce:
      return "reduce";
  }
  return "unknown";
}

MscclAlgorithm parse_msccl(const std::string& path, std::string_view text) {
  return AlgorithmReader(path, text).read();
}

}  // namespace rankwire
