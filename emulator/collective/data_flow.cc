#include "emulator/collective/data_flow.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rankwire {
namespace {

void keep_once(std::vector<uint32_t>& steps) {
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
}

}  // namespace

std::map<int64_t, DataFlow::Range>::iterator DataFlow::split(Bytes at) {
  const auto range = std::prev(ranges_.upper_bound(at.count));
  return range->first == at.count ? range : ranges_.emplace_hint(std::next(range), at.count, range->second);
}

template <class Visit>
void DataFlow::for_each_range(std::span<const Extent> pieces, Visit visit) {
  for (const Extent& piece : pieces) {
    auto range = split(piece.offset);
    const auto end = split(piece.offset + piece.bytes);
    for (; range != end; ++range) visit(range->second);
  }
}

std::vector<uint32_t> DataFlow::writers_of(std::span<const Extent> pieces) {
  std::vector<uint32_t> steps;
  for_each_range(pieces, [&](const Range& range) {
    if (range.writer != kNone) steps.push_back(range.writer);
  });
  keep_once(steps);
  return steps;
}

// Whoever reads has waited for the writer.
std::vector<uint32_t> DataFlow::users_of(std::span<const Extent> pieces) {
  std::vector<uint32_t> steps = gates_all_ ? gate_ : std::vector<uint32_t>();
  for_each_range(pieces, [&](const Range& range) {
    if (range.readers.empty() && range.writer != kNone) steps.push_back(range.writer);
    steps.insert(steps.end(), range.readers.begin(), range.readers.end());
  });
  keep_once(steps);
  return steps;
}

void DataFlow::note(uint32_t last) {
  latest_ = last;
  if (last != kNone) last_.push_back(last);
}

void DataFlow::write(std::span<const Extent> pieces, uint32_t step) {
  for_each_range(pieces, [&](Range& range) { range = {.writer = step, .readers = {}}; });
}

void DataFlow::send(uint32_t peer, uint32_t step, std::span<const Extent> data) {
  uint32_t sent = kNone;
  for (uint32_t s = 0; s < builder_.slices(data); ++s) {
    const Pieces slice = builder_.slice(data, s);
    std::vector<uint32_t> after = writers_of(slice);
    after.insert(after.end(), gate_.begin(), gate_.end());
    keep_once(after);
    sent = builder_.add(StepKind::kSend, peer, step, s, slice, after);
    for_each_range(slice, [&](Range& range) { range.readers.push_back(sent); });
  }
  note(sent);
}

void DataFlow::receive(uint32_t peer, uint32_t step, std::span<const Extent> data) {
  uint32_t received = kNone;
  for (uint32_t s = 0; s < builder_.slices(data); ++s) {
    const Pieces slice = builder_.slice(data, s);
    received = builder_.add(StepKind::kReceive, peer, step, s, slice, users_of(slice));
    write(slice, received);
  }
  note(received);
}

void DataFlow::receive_and_reduce(uint32_t peer, uint32_t step, std::span<const Extent> data) {
  const uint32_t slices = builder_.slices(data);
  std::vector<uint32_t> received;
  for (uint32_t s = 0; s < slices; ++s)
    received.push_back(builder_.add(StepKind::kReceive, peer, step, s, builder_.slice(data, s), {}));
  uint32_t reduced = kNone;
  for (uint32_t s = 0; s < slices; ++s) {
    const Pieces slice = builder_.slice(data, s);
    std::vector<uint32_t> after = users_of(slice);
    after.push_back(received[s]);
    keep_once(after);
    reduced = builder_.add(StepKind::kReduce, peer, step, s, slice, after);
    write(slice, reduced);
  }
  note(reduced);
}

void DataFlow::wait_for_all() {
  gate_ = std::exchange(last_, {});
}

}  // namespace rankwire
