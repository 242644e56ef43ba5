// Algorithms of MSCCL, in XML, as they are written.
//
//   <algo name="ring" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1">
//     <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
//       <tb id="0" send="1" recv="1" chan="0">
//         <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
//
// Source: microsoft/msccl-tools, msccl/language/ir.py (ir_to_xml) and collectives.py; microsoft/msccl, the parser and
// the interpreter of the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

enum class MscclCollective : uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce };

/// "all_reduce", ..., as rankwire names collectives.
const char* to_string(MscclCollective collective);

enum class MscclBuffer : uint8_t { kInput, kOutput, kScratch };

struct MscclPlace {
  MscclBuffer buffer = MscclBuffer::kInput;
  uint32_t offset = 0;  ///< in chunks
};

/// Of another thread block's step, which must be done first.
struct MscclWait {
  uint32_t block = 0, step = 0;  ///< indexes, not ids
};

/// What a step does with `count` chunks, in this order: receives, adds what stands at `source` (or, when it does not
/// receive, adds `source` to `destination`), writes to `destination`, sends.
struct MscclStep {
  bool receives = false, reduces = false, writes = false, sends = false;
  MscclPlace source, destination;
  uint32_t count = 0;
  std::optional<MscclWait> wait;
  uint64_t line = 0;

  bool is_local() const { return !receives && !sends; }
};

/// Does its steps one after the other.
struct MscclBlock {
  uint32_t id = 0;
  std::optional<uint32_t> send, receive;  ///< the peers
  uint32_t channel = 0;
  std::vector<MscclStep> steps;
  uint64_t line = 0;
};

struct MscclGpu {
  uint32_t scratch = 0;  ///< chunks
  std::vector<MscclBlock> blocks;
};

struct MscclAlgorithm {
  std::string name, protocol;
  MscclCollective collective = MscclCollective::kAllReduce;
  /// Of the larger of a member's input and output; a multiple of the members for all-gather, reduce-scatter and
  /// all-to-all.
  uint32_t chunks = 1;
  uint32_t root = 0;
  bool in_place = false;
  std::vector<MscclGpu> gpus;  ///< by rank, at least two
};

/// Throws Error(kInput) naming file and line. Peers are other ranks, waits name steps of the same GPU, and only one
/// thread block of a GPU sends to a peer on a channel, and receives so. `path` is for messages.
MscclAlgorithm parse_msccl(const std::string& path, std::string_view text);

}  // namespace rankwire
