#include <utility>
#include <vector>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"
#include "emulator/collective/host_map.h"

namespace rankwire {
namespace {

/// This member, and the columns of the group: the first members of all hosts, the second ones, and so on, as many
/// columns as every host has members. Whoever has a higher index is served by a member of his host.
class HierarchicalMember {
 public:
  explicit HierarchicalMember(ScheduleBuilder& builder)
      : flow(builder), map_(builder.request()), columns_(map_.least_members()), me_(builder.position()) {
    for (uint32_t h = 0; h < map_.hosts(); ++h)
      if (in_column()) ring_.push_back(map_.members(h)[column()]);
  }

  uint32_t columns() const { return columns_; }
  uint32_t hosts() const { return map_.hosts(); }
  bool in_column() const { return map_.index_of(me_) < columns_; }
  uint32_t column() const { return map_.index_of(me_) % columns_; }
  uint32_t host() const { return map_.host_of(me_); }
  /// The members of this host but this one.
  std::vector<uint32_t> neighbours() const {
    std::vector<uint32_t> result;
    for (const uint32_t member : map_.members(host()))
      if (member != me_) result.push_back(member);
    return result;
  }
  bool heads_column(uint32_t member) const { return map_.index_of(member) < columns_; }
  uint32_t column_of(uint32_t member) const { return map_.index_of(member) % columns_; }

  /// Blocks, one a member, of those that a column serves on a host.
  Pieces served(const std::vector<Extent>& blocks, uint32_t column, uint32_t host) const {
    std::vector<Extent> extents;
    for (const uint32_t member : map_.members(host))
      if (column_of(member) == column) extents.push_back(blocks[member]);
    return joined(std::move(extents));
  }
  /// Of a column on all hosts, without those of one member.
  Pieces served_everywhere(const std::vector<Extent>& blocks, uint32_t column, uint32_t but_of) const {
    std::vector<Extent> extents;
    for (uint32_t member = 0; member < blocks.size(); ++member)
      if (column_of(member) == column && member != but_of) extents.push_back(blocks[member]);
    return joined(std::move(extents));
  }

  /// The ring algorithms between the hosts of this member's column; `blocks` by host. Each returns the next step.
  uint32_t ring_reduce_scatter(const std::vector<Pieces>& blocks, uint32_t step) {
    return around(blocks, step, 1,
                  [&](uint32_t s, const Pieces& block) { flow.receive_and_reduce(behind(), s, block); });
  }
  uint32_t ring_all_gather(const std::vector<Pieces>& blocks, uint32_t step) {
    return around(blocks, step, 0, [&](uint32_t s, const Pieces& block) { flow.receive(behind(), s, block); });
  }

  DataFlow flow;

 private:
  uint32_t behind() const { return ring_[(host() + hosts() - 1) % hosts()]; }

  /// hosts - 1 steps; in the first this member sends the block `first` hosts behind it.
  template <class Receive>
  uint32_t around(const std::vector<Pieces>& blocks, uint32_t step, uint32_t first, Receive receive) {
    const uint32_t n = hosts();
    for (uint32_t s = 0; s + 1 < n; ++s, ++step) {
      const uint32_t sent = (host() + 2 * n - first - s) % n;
      flow.send(ring_[(host() + 1) % n], step, blocks[sent]);
      receive(step, blocks[(sent + n - 1) % n]);
    }
    return step;
  }

  const HostMap map_;
  const uint32_t columns_, me_;
  std::vector<uint32_t> ring_;  // this member's column, by host
};

}  // namespace

void hierarchical_all_reduce(ScheduleBuilder& builder) {
  HierarchicalMember member(builder);
  const Extent input = builder.input();
  const auto part = [&](uint32_t column) {
    return joined({partition(input, column, member.columns(), builder.element())});
  };
  for (const uint32_t other : member.neighbours()) {
    if (member.heads_column(other)) member.flow.send(other, 0, part(member.column_of(other)));
    if (member.in_column()) member.flow.receive_and_reduce(other, 0, part(member.column()));
  }
  uint32_t step = 1 + 2 * (member.hosts() - 1);
  if (member.in_column()) {
    const Extent own = partition(input, member.column(), member.columns(), builder.element());
    std::vector<Pieces> blocks;
    for (uint32_t h = 0; h < member.hosts(); ++h)
      blocks.push_back(joined({partition(own, h, member.hosts(), builder.element())}));
    member.ring_all_gather(blocks, member.ring_reduce_scatter(blocks, 1));
  }
  for (const uint32_t other : member.neighbours()) {
    if (member.in_column()) member.flow.send(other, step, part(member.column()));
    if (member.heads_column(other)) member.flow.receive(other, step, part(member.column_of(other)));
  }
}

void hierarchical_reduce_scatter(ScheduleBuilder& builder) {
  HierarchicalMember member(builder);
  const std::vector<Extent> parts = builder.parts();
  const uint32_t none = builder.members();
  for (const uint32_t other : member.neighbours()) {
    if (member.heads_column(other))
      member.flow.send(other, 0, member.served_everywhere(parts, member.column_of(other), none));
    if (member.in_column())
      member.flow.receive_and_reduce(other, 0, member.served_everywhere(parts, member.column(), none));
  }
  if (member.in_column()) {
    std::vector<Pieces> blocks;
    for (uint32_t h = 0; h < member.hosts(); ++h) blocks.push_back(member.served(parts, member.column(), h));
    member.ring_reduce_scatter(blocks, 1);
  }
  for (const uint32_t other : member.neighbours()) {
    if (member.in_column() && !member.heads_column(other) && member.column_of(other) == member.column())
      member.flow.send(other, member.hosts(), joined({parts[other]}));
    if (!member.in_column() && member.heads_column(other) && member.column_of(other) == member.column())
      member.flow.receive(other, member.hosts(), joined({parts[builder.position()]}));
  }
}

void hierarchical_all_gather(ScheduleBuilder& builder) {
  HierarchicalMember member(builder);
  const std::vector<Extent> inputs = builder.inputs();
  const uint32_t me = builder.position();
  for (const uint32_t other : member.neighbours()) {
    if (!member.in_column() && member.heads_column(other) && member.column_of(other) == member.column())
      member.flow.send(other, 0, joined({inputs[me]}));
    if (member.in_column() && !member.heads_column(other) && member.column_of(other) == member.column())
      member.flow.receive(other, 0, joined({inputs[other]}));
  }
  if (member.in_column()) {
    std::vector<Pieces> blocks;
    for (uint32_t h = 0; h < member.hosts(); ++h) blocks.push_back(member.served(inputs, member.column(), h));
    member.ring_all_gather(blocks, 1);
  }
  for (const uint32_t other : member.neighbours()) {
    if (member.in_column())
      member.flow.send(other, member.hosts(), member.served_everywhere(inputs, member.column(), other));
    if (member.heads_column(other))
      member.flow.receive(other, member.hosts(), member.served_everywhere(inputs, member.column_of(other), me));
  }
}

}  // namespace rankwire
