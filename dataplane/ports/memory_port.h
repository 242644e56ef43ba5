// A link in memory: two ports and nothing between them. Tests, virtual time and the embedded switch run on it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "dataplane/ports/doorbells.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// Two ends of a link without latency or rate: what one end transmits at `now` the other may receive at once, and its
/// `arrival` is that `now`. `next_event()` is the arrival of the oldest waiting frame. Payloads pass by reference.
///
/// `queue_frames` is the capacity of each direction, rounded up to a power of two; `transmit` refuses beyond it. `pool`
/// must outlive both ends, and frames pass only between links of the same pool. Each end may be used by a thread of its
/// own, if the pool is for many. The counters' name is `name` with ".a" and ".b". `bell` and `answer` outlive the link;
/// they ring when the first and the second end have sent. If the pool is for one thread, frames that are sent ahead of
/// their time are held back (FramePort::send_ahead).
std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_memory_link(FramePool& pool, size_t queue_frames,
                                                                                   const std::string& name,
                                                                                   Doorbell bell = {},
                                                                                   Doorbell answer = {});

}  // namespace rankwire
