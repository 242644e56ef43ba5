#include "converters/msccl_layout.h"

#include <fmt/format.h>

namespace rankwire {

std::string described(const ChunkSum& sum) {
  if (sum.of.empty()) return "nothing";
  return fmt::format("chunk {} of gpus {}", sum.chunk, to_string(sum.of));
}

bool MscclLayout::reduces() const {
  return algorithm_.collective == MscclCollective::kAllReduce ||
         algorithm_.collective == MscclCollective::kReduceScatter || algorithm_.collective == MscclCollective::kReduce;
}

uint32_t MscclLayout::input_chunks() const {
  return algorithm_.collective == MscclCollective::kAllGather ? share() : algorithm_.chunks;
}

uint32_t MscclLayout::output_chunks() const {
  return algorithm_.collective == MscclCollective::kReduceScatter ? share() : algorithm_.chunks;
}

uint32_t MscclLayout::all_chunks() const {
  return algorithm_.collective == MscclCollective::kAllToAll ? algorithm_.chunks * ranks_ : algorithm_.chunks;
}

uint32_t MscclLayout::size(uint32_t rank, MscclBuffer buffer) const {
  switch (buffer) {
    case MscclBuffer::kInput:
      return input_chunks();
    case MscclBuffer::kOutput:
      return output_chunks();
    case MscclBuffer::kScratch:
      return algorithm_.gpus[rank].scratch;
  }
  return 0;
}

size_t MscclLayout::places(uint32_t rank) const {
  return size_t{input_chunks()} + output_chunks() + algorithm_.gpus[rank].scratch;
}

size_t MscclLayout::place(uint32_t rank, MscclBuffer buffer, uint32_t offset) const {
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

std::optional<ChunkSum> MscclLayout::input(uint32_t rank, uint32_t offset) const {
  switch (algorithm_.collective) {
    case MscclCollective::kAllGather:
      return ChunkSum{rank * share() + offset, Contributors::only(rank)};
    case MscclCollective::kAllToAll:
      return ChunkSum{rank * algorithm_.chunks + offset, Contributors::only(rank)};
    case MscclCollective::kBroadcast:
      if (rank != algorithm_.root) return std::nullopt;
      break;
    default:
      break;
  }
  return ChunkSum{offset, Contributors::only(rank)};
}

ChunkSum MscclLayout::result(uint32_t rank, uint32_t offset) const {
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

}  // namespace rankwire
