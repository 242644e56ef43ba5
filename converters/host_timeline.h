// What one process's threads did, as steps that follow each other on each thread, with what a step had to wait for.
//
// A step is the time that an operator took itself, without the operators within it. It stands where the operator began.
// Behind a wait the operator goes on in a step of its own. Time without an operator is a step named "gap".
//
// A thread that does nothing for a millisecond or more was waiting: what it does then follows what another thread had
// begun last before, as in mlcommons/chakra (trace_link, inter_thread_dep). Where that operator does not end before, it
// waits in turn, and its time until then does not count as its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "converters/device_queue.h"
#include "converters/kineto.h"
#include "converters/operator_tree.h"
#include "converters/sparse_lists.h"

namespace rankwire {

struct HostStep {
  static constexpr uint32_t kGap = UINT32_MAX;
  static constexpr uint32_t kNoStep = UINT32_MAX;

  int64_t begin = 0;     ///< ns, as in Kineto
  int64_t duration = 0;  ///< ns
  uint32_t name = kGap;  ///< of KinetoTrace::names
  uint32_t operation = OperatorTree::kNone;
  int64_t thread = 0;
  uint32_t previous = kNoStep;  ///< of the thread
};

class HostTimeline {
 public:
  static constexpr uint32_t kNone = HostStep::kNoStep;

  /// Keeps nothing of what it is made of. In a dense one an operator goes on in a step of its own behind each operator
  /// within it as well, so that a step is at work from its begin for as long as it lasts.
  HostTimeline(const KinetoTrace& trace, const OperatorTree& tree, const DeviceQueue& queue, bool dense = false);

  /// Those of a thread are in order, each after the one before.
  const std::vector<HostStep>& steps() const { return steps_; }
  /// The steps of other threads that a step follows.
  std::span<const uint32_t> after_threads(uint32_t step) const { return after_threads_[step]; }
  /// The operations of the DeviceQueue that a step follows.
  std::span<const uint32_t> after_device(uint32_t step) const { return after_device_[step]; }
  /// The step that the thread was in or had been in last, or kNone.
  uint32_t step_at(int64_t thread, int64_t time) const;

 private:
  /// An operator or a wait.
  struct Span {
    int64_t begin, end;
    uint32_t name, operation;
    const HostWait* wait;
  };
  /// A time during which one span was the innermost, or none.
  struct Segment {
    int64_t begin, end;
    uint32_t span;
  };
  /// Where a segment is divided: the span was in it until `at`, and goes on at `until` when what it waited for is done.
  struct Division {
    int64_t at, until;
    const HostWait* wait = nullptr;
    uint32_t burst = kNone;  ///< of another thread, which begins at `at`
  };
  /// What a thread did between two idle times.
  struct Burst {
    int64_t thread, begin, end;
    int64_t idle_since;           ///< end of what the thread did before; `begin` when it did nothing
    int64_t follows = 0;          ///< a thread, where `after_thread`
    bool after_thread = false;    ///< begins after that thread's latest step
    int64_t gap = 0;              ///< time between what it follows and its begin
    uint32_t after_step = kNone;  ///< the part of a divided span that it follows
    uint32_t first = kNone, last = kNone;
  };
  struct Thread {
    std::vector<Span> spans;
    std::vector<Segment> segments;
    std::map<size_t, std::vector<Division>> divisions;  ///< by segment
    std::map<size_t, uint32_t> bursts;                  ///< by first segment
    std::vector<uint32_t> steps;
  };
  class Builder;
  static void divide_time(Thread& thread);
  void find_bursts();
  void connect_burst(uint32_t index);
  void divide_at(Thread& thread, uint32_t burst, size_t segment);
  void add_steps(int64_t id, Thread& thread);
  void connect_threads();

  const bool dense_;
  std::map<int64_t, Thread> threads_;
  std::vector<Burst> bursts_;
  std::vector<std::pair<uint32_t, uint32_t>> returns_;  ///< a step, and the burst that it waits for
  std::vector<HostStep> steps_;
  SparseLists<uint32_t> after_threads_, after_device_;  ///< by step
};

}  // namespace rankwire
