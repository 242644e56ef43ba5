#include "emulator/cli/point_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "emulator/report/assessment.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlan = "plan.json";
constexpr auto kLockPatience = std::chrono::minutes(1);

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Whoever comes first writes it whole; false where it was there.
bool write_first(const fs::path& file, const std::string& text) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const fs::path mine = fmt::format("{}.{}.{}", file.string(), host, getpid());
  std::error_code error;
  {
    std::ofstream out(mine, std::ios::binary | std::ios::trunc);
    out << text;
    if (!out.flush()) fail_input("--out {}: cannot be written into", file.parent_path().string());
  }
  fs::create_hard_link(mine, file, error);
  std::error_code ignored;
  fs::remove(mine, ignored);
  if (error && error != std::errc::file_exists) fail_input("{}: {}", file.string(), error.message());
  return !error;
}

/// What another part of the same sweep would run as well: configurations by what their files say now.
std::string plan_text(const std::vector<PointRun>& points) {
  nlohmann::ordered_json plan = {{"version", RANKWIRE_VERSION}, {"configurations", nlohmann::ordered_json::object()}};
  for (const PointRun& run : points) {
    auto& text = plan["configurations"][run.config];
    if (text.is_null()) text = text_of(run.config);
    plan["points"].push_back({{"folder", run.point->folder}, {"config", run.config}, {"settings", run.settings}});
  }
  return plan.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// What its record says where it has ended, else "pending".
void read_point_of_others(SweepPoint& point, const fs::path& folder, const std::vector<SweepColumn>& columns) {
  SweepPoint read = point;
  try {
    read_sweep_point(read, folder / point.folder, columns);
  } catch (const Error&) {
    read.verdict = "interrupted";  // there is none yet, or it is being made
  }
  if (read.verdict == "interrupted") {
    point.verdict = "pending";
    point.reason = "another part's, which has not ended it";
  } else {
    point = std::move(read);
  }
}

void share(const fs::path& folder, const std::string& plan) {
  if (folder.empty()) fail_input("--part: name the folder that all parts share with --out");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_input("--out {}: this folder cannot be made: {}", folder.string(), error.message());
  const fs::path file = folder / kPlan;
  if (!fs::exists(file, error)) {
    // What another part is writing just now is no other run.
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (!entry.path().filename().string().starts_with(kPlan))
        fail_input("--out {}: this folder holds something else than parts of a sweep or study; choose another one",
                   folder.string());
  }
  if (write_first(file, plan) || text_of(file) == plan) return;
  fail_input(
      "--out {}: this folder holds parts of another sweep or study, or of another version of its configuration or of "
      "rankwire ({}); choose another one, or remove it",
      folder.string(), kPlan);
}

}  // namespace

PointFolder::PointFolder(const PointPart& part, const FolderChoice& choice, const std::vector<PointRun>& points)
    : part_(part) {
  if (part.is_all()) {
    whole_ = std::make_unique<RunFolder>(choice);
    whole_->keep();
    path_ = whole_->path();
  } else {
    share(choice.out, plan_text(points));
    path_ = choice.out;
  }
}

std::string PointFolder::finish(const std::vector<PointRun>& points, const std::vector<SweepColumn>& columns,
                                const std::function<void()>& write) const {
  if (part_.is_all()) {
    write();
    return {};
  }
  size_t ended = 0;
  alone([&] {
    for (size_t i = 0; i < points.size(); ++i) {
      SweepPoint& point = *points[i].point;
      if (!part_.has(i)) read_point_of_others(point, path_, columns);
      ended += point.verdict != "pending" && point.verdict != "interrupted";
    }
    write();
  });
  return ended == points.size()
             ? fmt::format("part {} of {}; all {} points have ended", part_.number, part_.of, points.size())
             : fmt::format("part {} of {}; {} of {} points have ended, the tables are of these", part_.number, part_.of,
                           ended, points.size());
}

int PointFolder::status(const std::vector<PointRun>& points) const {
  int status = 0;
  for (size_t i = 0; i < points.size(); ++i)
    if (part_.has(i)) status = worse_status(status, exit_status(points[i].point->verdict));
  return status;
}

void PointFolder::alone(const std::function<void()>& write) const {
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<const int, void (*)(const int*)> closing(&folder, [](const int* opened) {
    if (*opened >= 0) close(*opened);
  });
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() > end)
      fail_run("{}: another rankwire has been writing into this folder for a minute", path_.string());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  write();
}

}  // namespace rankwire
