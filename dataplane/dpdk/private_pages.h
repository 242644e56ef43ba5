// DPDK's memory without hugetlbfs, in huge pages all the same.
#pragma once

#include "dataplane/dpdk/environment.h"

namespace rankwire {

/// With --no-huge EAL takes its memory from a file in memory, whose pages are small wherever the system says so for
/// shared memory (transparent_hugepage/shmem_enabled, `never` by default), and each is faulted in by itself. Puts
/// private memory in its place, with what EAL has written, for which the system is asked for huge pages. Must follow
/// rte_eal_init at once, as long as nobody else uses the memory. Does nothing where `options` have a device that shares
/// the memory with another process (virtio-user, vhost-user), or where the system has no room.
void take_private_pages(const DpdkOptions& options);

}  // namespace rankwire
