// DPDK's environment abstraction layer (EAL) of this process, and what keeps a PCI device from being used with it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

struct rte_mempool;

namespace rankwire {

struct OpenDpdkDevice;

struct DpdkOptions {
  Bytes memory = Bytes(512 << 20);   ///< for frames, rings and devices; hugepages where enough are free
  std::vector<std::string> devices;  ///< all that will be opened: PCI addresses and vdev strings
  std::vector<std::string> extra;    ///< EAL arguments; one that is also set here by default replaces the default
  bool keeps_devices = false;        ///< those that are opened stay open when their ports go, for the next ones alike
};

/// Whether an environment made now would be in huge pages: where enough are free and the arguments allow it.
bool takes_huge_pages(const DpdkOptions& options);
/// Whether an argument is `option` or begins with `option`=.
bool contains_option(const std::vector<std::string>& arguments, const std::string& option);

/// The EAL, initialised without files, telemetry or secondary processes, on the core that the calling thread runs on.
/// The thread's CPU affinity is left as it was. Works for an ordinary user without hugepages.
///
/// A process can have one in its life: DPDK 22.11 cannot initialise twice, not even after a failure. What EAL and the
/// drivers say goes to a temporary file, and its end into the text of errors. Frame memory of ports belongs to the
/// environment, which must outlive all ports and frames.
class DpdkEnvironment {
 public:
  /// Throws Error: kInput for a PCI device that cannot be used and for EAL arguments that are wrong, kRun when the EAL
  /// does not start; both say what to do.
  explicit DpdkEnvironment(const DpdkOptions& options);
  ~DpdkEnvironment();
  DpdkEnvironment(const DpdkEnvironment&) = delete;
  DpdkEnvironment& operator=(const DpdkEnvironment&) = delete;

  bool huge_pages() const { return huge_pages_; }
  /// The arguments that EAL was given, for the record.
  const std::vector<std::string>& arguments() const { return arguments_; }
  /// The last few lines of EAL's and the drivers' log, joined by " | "; set-up only.
  std::string log_tail() const;
  /// A number that no other call returns: names of pools and rings are unique in a process.
  uint32_t unique() { return unique_++; }
  /// A pool of frames that is the environment's from now on.
  void keep(rte_mempool* pool) { pools_.push_back(pool); }
  /// Gives the memory of all frames back, for the next ports of this process: before these, since DPDK writes zeros
  /// over all of it, which at the end of a process nobody needs. There are no ports and frames any more.
  void free_frames();

  bool keeps_devices() const { return keeps_devices_; }
  /// A started device is the environment's from now on, by the string that it was opened by.
  void keep(const std::string& device, std::shared_ptr<OpenDpdkDevice> opened);
  /// Null: there is none.
  std::shared_ptr<OpenDpdkDevice> kept(const std::string& device) const;
  const std::map<std::string, std::shared_ptr<OpenDpdkDevice>>& kept_devices() const { return kept_; }
  /// Closes it with its last port.
  void forget(const std::string& device) { kept_.erase(device); }
  /// There are no ports any more: closes what was kept, and frees the memory of all frames.
  void close_kept();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> log_;
  std::vector<std::string> arguments_;
  bool huge_pages_;
  uint32_t unique_ = 0;
  std::vector<rte_mempool*> pools_;
  const bool keeps_devices_;
  std::map<std::string, std::shared_ptr<OpenDpdkDevice>> kept_;
};

/// Gives the calling thread the per-thread caches of DPDK's pools for as long as this lives. Threads other than the one
/// that made the environment work without, slower. Throws Error(kRun) when there are no more slots (RTE_MAX_LCORE).
class DpdkThread {
 public:
  DpdkThread();
  ~DpdkThread();
  DpdkThread(const DpdkThread&) = delete;
  DpdkThread& operator=(const DpdkThread&) = delete;
};

struct PciNetworkDevice {
  std::string address;    ///< with domain
  std::string driver;     ///< the kernel driver it is bound to; may be empty
  std::string interface;  ///< the kernel's network interface; may be empty
  std::string obstacle;   ///< why DPDK cannot use it now and what would help; empty when it can
};

/// The Ethernet and InfiniBand controllers of this machine, by address. Needs no EAL. `sysfs` and `dev` are where the
/// kernel's file systems are mounted.
std::vector<PciNetworkDevice> pci_network_devices(const std::filesystem::path& sysfs = "/sys",
                                                  const std::filesystem::path& dev = "/dev");
/// Why DPDK cannot use the PCI device, or an empty text.
std::string pci_obstacle(const std::string& address, const std::filesystem::path& sysfs = "/sys",
                         const std::filesystem::path& dev = "/dev");

}  // namespace rankwire
