#include "tests/bench/htsim.h"

#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "base/error.h"

namespace rankwire::bench {
namespace {

/// For what htsim reads and writes; goes with this object.
class Folder {
 public:
  Folder() {
    if (::mkdtemp(path_.data()) == nullptr) fail_run("no folder {}: {}", path_, std::strerror(errno));
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "rankwire-htsim-XXXXXX";
};

void write_matrix(const std::string& path, std::span<const uint32_t> to, Bytes message) {
  std::ofstream matrix(path);
  matrix << "Nodes " << to.size() << "\nConnections " << to.size() << '\n';
  for (size_t h = 0; h < to.size(); ++h)
    matrix << h << "->" << to[h] << " id " << h + 1 << " start 0 size " << message.count << '\n';
  if (!matrix.flush()) fail_run("{}: {}", path, std::strerror(errno));
}

double to_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Of the children that have ended.
double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
}

struct HtsimRun {
  double seconds = 0;   ///< of CPU
  size_t finished = 0;  ///< flows
};

HtsimRun run_htsim(const std::string& program, const std::string& folder, size_t hosts, uint32_t end_us) {
  const std::string command = fmt::format(
      "cd '{}' && exec timeout --kill-after=2 600 '{}' -nodes {} -tiers 3 -conns {} -tm matrix -linkspeed 100000 "
      "-mtu 4096 -strat ecmp_host -paths 128 -queue_type lossless_input -pfc_thresholds 12 15 -q 1000 -seed 1 "
      "-end {} -o log 2>errors </dev/null",
      folder, program, hosts, hosts, end_us);
  const double before = children_seconds();
  HtsimRun run;
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
    if (!output) fail_run("{}: {}", program, std::strerror(errno));
    std::array<char, 512> line;
    while (std::fgets(line.data(), line.size(), output.get()) != nullptr)
      if (std::strstr(line.data(), " finished at ") != nullptr) ++run.finished;
  }
  run.seconds = children_seconds() - before;
  return run;
}

}  // namespace

std::optional<double> htsim_seconds(std::span<const uint32_t> to, Bytes message) {
  const char* const named = std::getenv("RANKWIRE_HTSIM");
  if (named == nullptr) return std::nullopt;
  const std::string program = std::filesystem::absolute(named);
  const Folder folder;
  write_matrix(folder.path() + "/matrix", to, message);
  const HtsimRun set_up = run_htsim(program, folder.path(), to.size(), 1);
  const HtsimRun whole = run_htsim(program, folder.path(), to.size(), 5000);
  if (whole.finished != to.size())
    fail_run("RANKWIRE_HTSIM, {}: {} of {} flows finished; htsim_roce was expected", program, whole.finished,
             to.size());
  return whole.seconds - set_up.seconds;
}

}  // namespace rankwire::bench
