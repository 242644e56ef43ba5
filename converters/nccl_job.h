// What NCCL says of a job, whoever wrote it down: processes, the communicators that they are members of, and calls.
//
// A rank is a process and a device. Ranks of the run are those of the largest communicator, if all are members of it,
// else they follow the order of hosts and devices, which is said. Nothing is known of the work between calls.
//
// Which ranks there are is known at the end of all files alone, so calls are held until then: kMostNcclCalls at most.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "converters/conversion.h"
#include "converters/missing_ranks.h"
#include "converters/process_group.h"
#include "converters/pytorch_call.h"

namespace rankwire {

/// A rank's place in a communicator.
struct NcclMember {
  uint32_t process = 0;
  int64_t device = -1;       ///< -1: not said
  std::string communicator;  ///< the same at all members; "" where that was not logged
  int64_t rank = -1;         ///< -1: not said
  int64_t ranks = 0;         ///< how many members the communicator has; 0: not said
  std::string file;          ///< where it was met first
};

struct NcclCall {
  uint32_t member = 0;
  ActionKind kind = ActionKind::kOther;
  uint32_t chain = 0;   ///< of the process: calls of a chain follow each other
  int64_t root = -1;    ///< or peer, in the communicator
  int64_t bytes = 0;    ///< as NCCL counts: its `count` in bytes
  uint64_t group = 0;   ///< calls of a chain and a communicator in a row with the same number are carried out together
  uint64_t micros = 0;  ///< that it took; 0: not said
};

/// That are held at once, 48 bytes each: 1.5 GiB, and half as much to sort them; some 6 GB of logs.
inline constexpr size_t kMostNcclCalls = size_t{1} << 25;

/// Whether it is a call that NCCL has.
constexpr bool is_nccl_call(ActionKind kind) {
  return kind != ActionKind::kOther && kind != ActionKind::kWait && kind != ActionKind::kBarrier;
}

class NcclJob {
 public:
  /// "host:pid".
  uint32_t process(std::string_view name);
  /// The member that a process knows by `handle`; made when it is new. The reference is valid until the next call.
  NcclMember& member(uint32_t process, std::string_view handle, const std::string& file);
  /// From here on the handle is another member's, as an address is that is used again.
  void forget(uint32_t process, std::string_view handle);
  uint32_t index_of(const NcclMember& member) const { return static_cast<uint32_t>(&member - members_.data()); }
  /// A number for what a process does one after another, such as a stream by its address.
  uint32_t chain(uint32_t process, std::string_view name);
  /// Throws Error(kInput) for more than kMostNcclCalls.
  void add(const NcclCall& call);
  bool empty() const { return calls_.empty(); }

  /// Writes a trace for each rank, and says in `conversion` what was assumed. Throws Error(kInput) for what is
  /// contradicted or not known, with the communicator and what to log.
  void write(Conversion& conversion, ConversionProgress& progress, const FillOptions& options);

 private:
  using Place = std::pair<uint32_t, int64_t>;  ///< process and device

  struct Communicator {
    int64_t ranks = 0;
    std::string name;                     ///< of its process group
    std::map<int64_t, uint32_t> members;  ///< index in members_ by rank
    std::vector<int64_t> run_ranks;       ///< by rank; -1: no log tells
  };

  Place place_of(const NcclMember& member) const { return {member.process, member.device}; }
  void number_members(Conversion& conversion);
  void tell_devices_apart();
  void find_communicators();
  void number_ranks(Conversion& conversion);
  void name_groups();
  bool comes_before(const Place& a, const Place& b) const;
  /// The groups of a rank's calls.
  std::vector<ProcessGroup> groups_of(std::span<const NcclCall> calls) const;
  void write_rank(const RecordedRank& rank, std::span<const NcclCall> calls, NodeWriter& writer) const;
  PytorchCall recorded(const NcclCall& call) const;

  std::vector<std::string> processes_;
  std::map<std::string, uint32_t, std::less<>> process_index_, handle_index_, chain_index_;
  std::vector<NcclMember> members_;
  std::vector<NcclCall> calls_;
  std::map<std::string, Communicator> communicators_;
  std::map<Place, uint32_t> rank_of_;
  uint32_t ranks_ = 0;  ///< of the run, with those that no log is of
};

}  // namespace rankwire
