#include "emulator/input/validate_jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/message.h"
#include "emulator/input/aggregators.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

class JobsCheck {
 public:
  JobsCheck(const RunConfig& config, const Tree& root) : config_(config), root_(root), jobs_(config.jobs) {}

  void run() const {
    if (root_.find("workload") != nullptr)
      fail("workload", "contradicts 'jobs', each of which has a workload of its own; give one of them");
    if (jobs_.empty()) fail("jobs", "has no jobs");
    if (jobs_.size() > MessageId::kMaxJobs)
      fail("jobs", "has {} jobs, the most is {}", jobs_.size(), MessageId::kMaxJobs);
    check_names();
    for (size_t i = 0; i < jobs_.size(); ++i) check_job(jobs_[i], fmt::format("jobs[{}]", i));
    for (size_t i = 0; i < jobs_.size(); ++i) check_circle(i);
    check_idle();
    check_starts();
    check_others();
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    fail_key(root_, key, format, std::forward<Args>(args)...);
  }

  void check_names() const {
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const std::string key = fmt::format("jobs[{}]", i);
      const std::string& name = jobs_[i].name;
      if (name.empty()) fail(key, "'name' is required");
      if (name == "none") fail(key + ".name", "'none' stands for no job in 'after'");
      const auto [first, is_new] = known.try_emplace(name, i);
      if (!is_new) fail(key + ".name", "'{}' is the name of jobs[{}] already", name, first->second);
    }
  }

  void check_job(const JobConfig& job, const std::string& key) const {
    check_hosts(job, key);
    if (!job.after.empty() && find(job.after) == jobs_.size())
      fail(key + ".after", "'{}' is not the name of a job; the jobs are {}", job.after, names());
    if (config_.mapping.policy == MappingPolicy::kExplicit && !job.mapping)
      fail("mapping.policy", "'explicit' names ranks of one workload; give each of the jobs its own 'mapping'");
    const bool nccl = config_.collectives.profile == CollectivesProfile::kNccl;
    constexpr const char* kContradicts = "contradicts 'collectives.profile: nccl'";
    if (nccl && job.collectives.channels) fail(key + ".collectives.channels", "{}", kContradicts);
    if (nccl && job.collectives.chunk) fail(key + ".collectives.chunk", "{}", kContradicts);
    for (uint32_t i = 0; i < kCollectiveOperations; ++i)
      check_algorithm(static_cast<Operation>(i), job.collectives.algorithms[i].algorithm, key);
    const auto rdma = std::ranges::find_if(config_.ports, &PortConfig::is_rdma_device);
    if (rdma == config_.ports.end()) return;
    if (job.marking.priority)
      fail(key + ".transport.priority",
           "port '{}' is an RDMA device, which gives all packets the priority of transport.verbs.sl; give 'dscp', by "
           "which switches may tell them apart, or use DPDK ports",
           rdma->name);
  }

  void check_hosts(const JobConfig& job, const std::string& key) const {
    if (job.hosts.empty()) return;
    if (job.mapping && job.mapping->policy == MappingPolicy::kExplicit)
      fail(key + ".hosts", "contradicts 'mapping.policy: explicit', which names the host of each rank");
    const auto count = config_.hosts.count.value_or(static_cast<uint32_t>(rank_ports(config_).size()));
    std::set<uint32_t> seen;
    for (size_t h = 0; h < job.hosts.size(); ++h) {
      const std::string item = fmt::format("{}.hosts[{}]", key, h);
      if (!config_.ports.empty() && job.hosts[h] >= count)
        fail(item, "there is no host {}; there are hosts 0 .. {}", job.hosts[h], count - 1);
      if (!seen.insert(job.hosts[h]).second) fail(item, "names host {} twice", job.hosts[h]);
    }
  }

  void check_algorithm(Operation operation, Algorithm algorithm, const std::string& job) const {
    const std::string key = fmt::format("{}.collectives.algorithms.{}", job, to_string(operation));
    if (algorithm == Algorithm::kInNetwork)
      fail(key, "'in_network' is for all of a run: see collectives.algorithms and collectives.aggregators");
    if (config_.collectives.profile != CollectivesProfile::kNccl || algorithm == Algorithm::kAuto) return;
    const std::vector<Algorithm> known = nccl_algorithms_for(operation);
    if (std::ranges::find(known, algorithm) == known.end())
      fail(key, "'profile: nccl' has {}, not {}", names_of(known), to_string(algorithm));
  }

  /// Of a job that waits for itself in the end, the keys name the way.
  void check_circle(size_t first) const {
    std::string way = jobs_[first].name;
    size_t at = first;
    for (size_t hops = 0; hops < jobs_.size() && !jobs_[at].after.empty(); ++hops) {
      at = find(jobs_[at].after);
      way += " after " + jobs_[at].name;
      if (at == first) fail(fmt::format("jobs[{}].after", first), "is a circle, which never begins: {}", way);
    }
  }

  void check_idle() const {
    if (std::ranges::all_of(jobs_, &JobConfig::idle)) fail("jobs", "are all idle, so that nothing would run");
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const JobConfig& job = jobs_[i];
      if (!job.idle && !job.after.empty() && jobs_[find(job.after)].idle)
        fail(fmt::format("jobs[{}].after", i), "'{}' is idle and never ends; write 'after: none' and a 'start'",
             job.after);
    }
  }

  /// Since the beginning of the run at the earliest: those that it follows take no time.
  Duration earliest(const JobConfig& job) const {
    return job.start + (job.after.empty() ? Duration(0) : earliest(jobs_[find(job.after)]));
  }

  void check_starts() const {
    const Duration deadline = config_.run.deadline;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const JobConfig& job = jobs_[i];
      const Duration begin = earliest(job);
      if (job.idle || begin < deadline || begin - job.start >= deadline) continue;
      fail(fmt::format("jobs[{}].start", i),
           "'{}' would begin {}{} after the beginning of the run, and run.deadline ends it after {}", job.name,
           job.after.empty() ? "" : "at the earliest ", print_quantity(begin.ps, kDurationScale),
           print_quantity(deadline.ps, kDurationScale));
    }
  }

  void check_others() const {
    if (config_.simulation.is_astra())
      fail("jobs", "'simulation.fidelity: astra' runs one workload; give it as 'workload', or take flow or the twin");
    if (!config_.collectives.aggregators.empty() && jobs_.size() > 1)
      fail("collectives.aggregators", "serve one job, and there are {}", jobs_.size());
  }

  /// The job's number; that of none where there is none of this name.
  size_t find(const std::string& name) const {
    return static_cast<size_t>(std::ranges::find(jobs_, name, &JobConfig::name) - jobs_.begin());
  }
  std::string names() const {
    std::string list;
    for (const JobConfig& job : jobs_) list += (list.empty() ? "" : ", ") + job.name;
    return list;
  }

  const RunConfig& config_;
  const Tree& root_;
  const std::vector<JobConfig>& jobs_;
};

}  // namespace

void note_job_places(RunConfig& config, const Tree& root) {
  for (size_t i = 0; i < config.jobs.size(); ++i) config.jobs[i].place = root.find("jobs")->items[i].origin.place;
}

void validate_jobs(const RunConfig& config, const Tree& root) {
  if (root.find("jobs") != nullptr) JobsCheck(config, root).run();
}

}  // namespace rankwire
