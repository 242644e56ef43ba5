#include "dataplane/dpdk/environment.h"

#include <fcntl.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mempool.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/pci_address.h"
#include "dataplane/dpdk/huge_pages.h"
#include "dataplane/dpdk/kept_device.h"

namespace rankwire {
namespace {

/// Sends standard error to a file and standard output to nowhere while it lives: EAL prints fatal errors and its usage
/// straight to them.
class OutputDiverted {
 public:
  explicit OutputDiverted(std::FILE* errors) : saved_{::dup(STDOUT_FILENO), ::dup(STDERR_FILENO)} {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
    ::dup2(::fileno(errors), STDERR_FILENO);
  }
  ~OutputDiverted() {
    std::fflush(stdout);
    ::dup2(saved_[0], STDOUT_FILENO);
    ::dup2(saved_[1], STDERR_FILENO);
    ::close(saved_[0]);
    ::close(saved_[1]);
  }
  OutputDiverted(const OutputDiverted&) = delete;
  OutputDiverted& operator=(const OutputDiverted&) = delete;

 private:
  const int saved_[2];
};

/// rte_eal_init pins the calling thread to its core.
class AffinityKept {
 public:
  AffinityKept() { ::pthread_getaffinity_np(::pthread_self(), sizeof cpus_, &cpus_); }
  ~AffinityKept() { ::pthread_setaffinity_np(::pthread_self(), sizeof cpus_, &cpus_); }
  AffinityKept(const AffinityKept&) = delete;
  AffinityKept& operator=(const AffinityKept&) = delete;

 private:
  cpu_set_t cpus_;
};

std::vector<std::string> eal_arguments(const DpdkOptions& options, bool huge_pages) {
  std::vector<std::string> arguments = {"rankwire"};
  const auto add = [&](const std::string& option, const std::string& value = "") {
    if (contains_option(options.extra, option)) return;
    arguments.push_back(option);
    if (!value.empty()) arguments.push_back(value);
  };
  add("--no-telemetry");
  add("--lcores", fmt::format("0@{}", std::max(0, ::sched_getcpu())));
  add("-m", std::to_string((options.memory.count + (1 << 20) - 1) >> 20));
  if (huge_pages) {
    add("--in-memory");
    add("--single-file-segments");  // virtio_user can share only memory that is one file
  } else {
    add("--no-huge");  // EAL does not combine it with --in-memory
    add("--no-shconf");
  }
  for (const std::string& device : options.devices) {
    if (is_pci_address(device)) arguments.insert(arguments.end(), {"-a", device});
  }
  if (!contains_option(arguments, "-a") && !contains_option(options.extra, "-a")) add("--no-pci");
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  return arguments;
}

int initialise(std::vector<std::string> arguments, std::FILE* log) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const AffinityKept affinity;
  const OutputDiverted output(log);
  return ::rte_eal_init(static_cast<int>(arguments.size()), argv.data());
}

}  // namespace

bool takes_huge_pages(const DpdkOptions& options) {
  return !contains_option(options.extra, "--no-huge") && can_have_huge_pages(options.memory);
}

bool contains_option(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == option || argument.starts_with(option + "=");
  });
}

DpdkEnvironment::DpdkEnvironment(const DpdkOptions& options)
    : log_(std::tmpfile()), keeps_devices_(options.keeps_devices) {
  if (!log_) fail_run("no temporary file for the log of DPDK: {}", std::strerror(errno));
  // DPDK writes to the sockets of vhost-user peers, who may be gone: an error of theirs, not the end of this program.
  std::signal(SIGPIPE, SIG_IGN);
  ::fcntl(::fileno(log_.get()), F_SETFL, O_APPEND);
  for (const std::string& device : options.devices) {
    if (!is_pci_address(device)) continue;
    if (const std::string obstacle = pci_obstacle(device); !obstacle.empty()) throw Error(ErrorKind::kInput, obstacle);
  }
  const TurnAtHugePages turn;
  huge_pages_ = takes_huge_pages(options);
  arguments_ = eal_arguments(options, huge_pages_);
  std::FILE* const previous_log = ::rte_log_get_stream();
  ::rte_openlog_stream(log_.get());
  if (initialise(arguments_, log_.get()) >= 0) return;

  const int error = rte_errno;
  const std::string tail = log_tail();
  ::rte_openlog_stream(previous_log);
  if (error == EALREADY) fail_run("DPDK was already initialised in this process and can be only once");
  // Without fmt::join, whose parser g++ 12 warns of where a link optimises the room.
  std::string arguments;
  for (const std::string& argument : arguments_) arguments += (arguments.empty() ? "" : " ") + argument;
  if (error == ENOMEM)
    fail_input("DPDK gets no {} MiB of memory, which dpdk.memory asks for: lower it ({})", options.memory.count >> 20,
               tail);
  if (error == EINVAL) fail_input("DPDK refuses the arguments '{}': {}", arguments, tail);
  fail_run("DPDK does not start ({}) with the arguments '{}': {}", ::rte_strerror(error), arguments, tail);
}

DpdkEnvironment::~DpdkEnvironment() {
  const OutputDiverted output(log_.get());
  kept_.clear();
  // Cleaning up would close what DpdkDevice has left open.
  if (::rte_eth_dev_count_avail() == 0) ::rte_eal_cleanup();
  ::rte_openlog_stream(nullptr);
}

void DpdkEnvironment::free_frames() {
  // A device that DpdkDevice has left open has some of them.
  if (::rte_eth_dev_count_avail() != 0) return;
  for (rte_mempool* pool : pools_) ::rte_mempool_free(pool);
  pools_.clear();
}

void DpdkEnvironment::keep(const std::string& device, std::shared_ptr<OpenDpdkDevice> opened) {
  kept_[device] = std::move(opened);
}

std::shared_ptr<OpenDpdkDevice> DpdkEnvironment::kept(const std::string& device) const {
  const auto found = kept_.find(device);
  return found == kept_.end() ? nullptr : found->second;
}

void DpdkEnvironment::close_kept() {
  kept_.clear();
  free_frames();
}

std::string DpdkEnvironment::log_tail() const {
  constexpr long kMost = 600;
  std::fflush(log_.get());
  const int file = ::fileno(log_.get());
  const off_t size = ::lseek(file, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - kMost);
  std::string text(static_cast<size_t>(size - from), '\0');
  const ssize_t n = ::pread(file, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, n)));
  if (from > 0) text.erase(0, text.find('\n') + 1);
  while (text.ends_with('\n')) text.pop_back();
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.replace(at, 1, " | ");
  return text;
}

DpdkThread::DpdkThread() {
  if (::rte_thread_register() != 0) {
    fail_run("DPDK does not accept another thread: {}", ::rte_strerror(rte_errno));
  }
}

DpdkThread::~DpdkThread() {
  ::rte_thread_unregister();
}

}  // namespace rankwire
