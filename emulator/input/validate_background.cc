#include "emulator/input/validate_background.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/message.h"
#include "emulator/input/aggregators.h"
#include "emulator/input/size_table.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

class BackgroundCheck {
 public:
  BackgroundCheck(const RunConfig& config, const Tree& root)
      : config_(config), root_(root), entries_(config.background) {}

  void run() const {
    if (config_.simulation.is_astra())
      fail("background", "'simulation.fidelity: astra' knows nothing of it; take flow or the twin");
    const size_t jobs = std::max<size_t>(config_.jobs.size(), 1);
    if (jobs + entries_.size() > MessageId::kMaxJobs)
      fail("background", "{} entries beside {} jobs are more than {} together", entries_.size(), jobs,
           MessageId::kMaxJobs);
    std::map<std::string, std::string> names;
    for (size_t j = 0; j < config_.jobs.size(); ++j) names.emplace(config_.jobs[j].name, fmt::format("jobs[{}]", j));
    for (size_t i = 0; i < entries_.size(); ++i) {
      const std::string key = fmt::format("background[{}]", i);
      check_required(entries_[i], key);
      const auto [first, is_new] = names.try_emplace(entries_[i].name, key);
      if (!is_new) fail(key + ".name", "'{}' is the name of {} already", entries_[i].name, first->second);
      check_loop(entries_[i], key);
      check_times(entries_[i], key);
      check_pattern(entries_[i], key);
      check_ends(entries_[i], entries_[i].from, key + ".from");
      check_ends(entries_[i], entries_[i].to, key + ".to");
      check_priority(entries_[i], key);
      if (!entries_[i].size.file.empty()) check_table(entries_[i].size.file, key + ".size");
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    fail_key(root_, key, format, std::forward<Args>(args)...);
  }
  bool has(const std::string& key, const char* name) const { return nearest(root_, key).find(name) != nullptr; }

  void check_required(const BackgroundConfig& entry, const std::string& key) const {
    if (entry.name.empty()) fail(key, "'name' is required");
    for (const char* name : {"pattern", "size"})
      if (!has(key, name)) fail(key, "'{}' is required", name);
  }

  void check_loop(const BackgroundConfig& entry, const std::string& key) const {
    if (!entry.rate && !entry.outstanding)
      fail(key, "needs 'rate', by which each flow sends, or 'outstanding', the messages that it waits for");
    const auto fastest = std::ranges::max_element(config_.ports, {}, &PortConfig::rate);
    if (entry.rate && fastest != config_.ports.end() && *entry.rate > fastest->rate)
      fail(key + ".rate", "is more than the {:g} Gbit/s of port '{}', and no port is faster",
           static_cast<double>(fastest->rate.bits_per_second) / 1e9, fastest->name);
    if (entry.rate && entry.outstanding)
      fail(key + ".outstanding",
           "contradicts 'rate', by which a flow sends whatever becomes of its messages; give one of them");
    const BackgroundConfig defaults;
    if (entry.is_open()) return;
    if (entry.poisson)
      fail(key + ".arrivals", "needs 'rate'; with 'outstanding' a flow sends when a message has arrived");
    if (entry.backlog != defaults.backlog) fail(key + ".backlog", "needs 'rate'; with 'outstanding' that is the most");
  }

  void check_times(const BackgroundConfig& entry, const std::string& key) const {
    if (entry.stop && *entry.stop <= entry.start) fail(key + ".stop", "is not after 'start'");
    if (entry.start >= config_.run.deadline)
      fail(key + ".start", "{} is not before run.deadline {}, so that nothing would be sent",
           print_quantity(entry.start.ps, kDurationScale), print_quantity(config_.run.deadline.ps, kDurationScale));
    if (!entry.burst) return;
    for (const char* name : {"on", "off"})
      if (!has(key + ".burst", name)) fail(key + ".burst", "'{}' is required", name);
  }

  void check_pattern(const BackgroundConfig& entry, const std::string& key) const {
    const bool random = entry.pattern == BackgroundPatternName::kRandomPairs;
    if (random && !entry.pairs) fail(key, "'pattern: random_pairs' needs 'pairs', how many to draw");
    if (!random && entry.pairs) fail(key + ".pairs", "is for 'pattern: random_pairs'");
    switch (entry.pattern) {
      case BackgroundPatternName::kPairs:
        if (entry.from.empty() || entry.to.empty()) fail(key, "'pattern: pairs' needs 'from' and 'to'");
        if (entry.from.size() != entry.to.size())
          fail(key + ".to", "has {} ends and 'from' has {}: the n-th sends to the n-th", entry.to.size(),
               entry.from.size());
        break;
      case BackgroundPatternName::kPermutation:
        if (!entry.to.empty()) fail(key + ".to", "is not for 'pattern: permutation', whose senders receive as well");
        if (entry.from.size() == 1) fail(key + ".from", "has one end, and a permutation needs two");
        break;
      case BackgroundPatternName::kIncast:
        if (entry.to.size() != 1)
          fail(entry.to.empty() ? key : key + ".to", "'pattern: incast' needs one end as 'to'; there are {}",
               entry.to.size());
        break;
      case BackgroundPatternName::kAllToAll:
      case BackgroundPatternName::kRandomPairs:
        break;
    }
  }

  /// Where flows are given one by one, an end may have several.
  void check_ends(const BackgroundConfig& entry, const std::vector<std::string>& ends, const std::string& key) const {
    std::set<std::string> seen;
    for (size_t i = 0; i < ends.size(); ++i) {
      const std::string item = fmt::format("{}[{}]", key, i);
      check_end(ends[i], item);
      if (!seen.insert(ends[i]).second && entry.pattern != BackgroundPatternName::kPairs)
        fail(item, "names '{}' twice", ends[i]);
    }
  }

  void check_end(const std::string& end, const std::string& key) const {
    if (end.find_first_not_of("0123456789") == std::string::npos) {
      const uint64_t hosts = config_.hosts.count.value_or(static_cast<uint32_t>(rank_ports(config_).size()));
      if (end.size() > 9 || parse_integer(end) >= hosts)
        fail(key, "there is no host {}; there are hosts 0 .. {}", end, hosts - 1);
      return;
    }
    if (std::ranges::find(config_.ports, end, &PortConfig::name) == config_.ports.end())
      fail(key, "'{}' is neither the name of a port nor the number of a host; ports are {} .. {}", end,
           config_.ports.front().name, config_.ports.back().name);
    if (std::ranges::find(config_.collectives.aggregators, end, &AggregatorConfig::port) !=
        config_.collectives.aggregators.end())
      fail(key, "port '{}' is an aggregator's", end);
  }

  void check_priority(const BackgroundConfig& entry, const std::string& key) const {
    const auto rdma = std::ranges::find_if(config_.ports, &PortConfig::is_rdma_device);
    if (!entry.marking.priority || rdma == config_.ports.end()) return;
    fail(key + ".transport.priority",
         "port '{}' is an RDMA device, which gives all packets the priority of transport.verbs.sl; give 'dscp', by "
         "which switches may tell them apart, or use DPDK ports",
         rdma->name);
  }

  void check_table(const std::string& file, const std::string& key) const {
    try {
      read_size_table(file);
    } catch (const Error& error) {
      fail(key, "{}", error.what());
    }
  }

  const RunConfig& config_;
  const Tree& root_;
  const std::vector<BackgroundConfig>& entries_;
};

}  // namespace

void note_background_places(RunConfig& config, const Tree& root) {
  for (size_t i = 0; i < config.background.size(); ++i)
    config.background[i].place = root.find("background")->items[i].origin.place;
}

void validate_background(const RunConfig& config, const Tree& root) {
  if (!config.background.empty()) BackgroundCheck(config, root).run();
}

}  // namespace rankwire
