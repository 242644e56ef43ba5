// Huge pages of this machine, which its processes share.
#pragma once

#include "base/units.h"

namespace rankwire {

/// Whether this process could map so much now: free ones may be promised to others, or be more than its group of
/// processes may have. None is touched or kept.
bool can_have_huge_pages(Bytes memory);

/// While it lives no other process finds enough huge pages and takes them, which lasts a tenth of a second: of two that
/// both found enough one would not get them, and DPDK cannot begin a second time. Waits for 10 s at most and then lets
/// the process go on; not at all where none are free.
class TurnAtHugePages {
 public:
  TurnAtHugePages();
  ~TurnAtHugePages();
  TurnAtHugePages(const TurnAtHugePages&) = delete;
  TurnAtHugePages& operator=(const TurnAtHugePages&) = delete;

 private:
  int folder_ = -1;  ///< locked; -1: there is nothing to wait for
};

}  // namespace rankwire
