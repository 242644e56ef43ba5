#include "tests/bench/htsim.h"

#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "base/error.h"

namespace rankwire::bench {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Of the children that have ended.
double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

}  // namespace

std::optional<Htsim> Htsim::of_environment(std::span<const uint32_t> to, Bytes message) {
  const char* const program = std::getenv("RANKWIRE_HTSIM");
  if (program == nullptr) return std::nullopt;
  std::string folder = std::filesystem::temp_directory_path() / "rankwire-htsim-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) fail_input("no folder {}: {}", folder, std::strerror(errno));
  Htsim htsim(std::filesystem::absolute(program), folder, to.size());
  std::ofstream matrix(htsim.folder_ / "matrix");
  matrix << "Nodes " << to.size() << "\nConnections " << to.size() << '\n';
  for (size_t h = 0; h < to.size(); ++h)
    matrix << h << "->" << to[h] << " id " << h + 1 << " start 0 size " << message.count << '\n';
  return htsim;
}

Htsim::Htsim(std::string program, std::filesystem::path folder, size_t hosts)
    : program_(std::move(program)), folder_(std::move(folder)), hosts_(hosts) {}

Htsim::Htsim(Htsim&& other) noexcept
    : program_(std::move(other.program_)), folder_(std::exchange(other.folder_, {})), hosts_(other.hosts_) {}

Htsim::~Htsim() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

double Htsim::seconds() const {
  const double set_up = run(1).seconds;
  const Run whole = run(5000);
  if (whole.finished != hosts_)
    fail_input("RANKWIRE_HTSIM, {}: {} of {} flows finished; htsim_roce was expected", program_, whole.finished,
               hosts_);
  return whole.seconds - set_up;
}

Htsim::Run Htsim::run(uint32_t end_us) const {
  const std::string command = fmt::format(
      "cd '{}' && exec timeout --kill-after=2 600 '{}' -nodes {} -tiers 3 -conns {} -tm matrix -linkspeed 100000 "
      "-mtu 4096 -strat ecmp_host -paths 128 -queue_type lossless_input -pfc_thresholds 12 15 -q 1000 -seed 1 "
      "-end {} -o log 2>errors </dev/null",
      folder_.string(), program_, hosts_, hosts_, end_us);
  const double before = children_seconds();
  Run run;
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
    if (!output) fail_input("{}: {}", program_, std::strerror(errno));
    std::array<char, 512> line;
    while (std::fgets(line.data(), line.size(), output.get()) != nullptr)
      if (std::strstr(line.data(), " finished at ") != nullptr) ++run.finished;
  }
  run.seconds = children_seconds() - before;
  return run;
}

}  // namespace rankwire::bench
