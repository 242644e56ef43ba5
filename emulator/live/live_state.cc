#include "emulator/live/live_state.h"

#include <utility>

#include "emulator/live/late_ranks.h"
#include "emulator/live/live_metrics.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kBetweenQuestions{1};

double seconds_of(Time time) {
  return static_cast<double>(time.ps) / 1e12;
}

Json late_json(const LiveFeed& feed, const std::optional<LateRank>& late) {
  if (!late) return nullptr;
  return {{"rank", late->rank.value},
          {"name", feed.ranks[late->rank.value].name},
          {"operation", late->operation},
          {"last_end_s", seconds_of(late->last_end)},
          {"silent_s", seconds_of(Time() + late->silent)},
          {"behind_operations", late->operations},
          {"behind_s", seconds_of(Time() + late->behind)}};
}

Json run_json(const LiveFeed& feed) {
  const LiveFigures figures = feed.read();
  Json run{{"label", feed.label}, {"time_s", seconds_of(figures.now)}, {"operations_planned", feed.operations}};
  for (const LiveCountName& count : live_count_names()) run[count.key] = figures[count.count];
  const std::vector<std::optional<LateRank>> late = late_ranks(feed, figures);
  run["ranks"] = feed.ranks.size();
  run["jobs"] = Json::array();
  for (size_t job = 0; job < feed.jobs.size(); ++job) {
    run["jobs"].push_back({{"name", feed.jobs[job].name},
                           {"iterations", figures.jobs[job].iterations},
                           {"iterations_planned", feed.jobs[job].iterations},
                           {"bytes", figures.jobs[job].bytes},
                           {"late", late_json(feed, late[job])}});
  }
  run["ports"] = Json::array();
  for (size_t port = 0; port < feed.ports.size(); ++port) {
    const PortTally& tally = figures.ports[port];
    run["ports"].push_back({{"name", feed.ports[port]},
                            {"tx_packets", tally.tx_packets},
                            {"tx_bytes", tally.tx_bytes},
                            {"rx_packets", tally.rx_packets},
                            {"rx_bytes", tally.rx_bytes}});
  }
  run["background"] = Json::array();
  for (size_t entry = 0; entry < feed.background.size(); ++entry) {
    const LiveBackground& counts = figures.background[entry];
    Json& told = run["background"].emplace_back(Json{{"name", feed.background[entry].name},
                                                     {"messages_posted", counts.posted},
                                                     {"messages_delivered", counts.delivered},
                                                     {"messages_failed", counts.failed},
                                                     {"bytes_posted", counts.bytes_posted},
                                                     {"bytes_delivered", counts.bytes_delivered}});
    if (!feed.background[entry].counts_packets) continue;
    told["packets_sent"] = counts.packets_sent, told["packets_arrived"] = counts.packets_arrived;
  }
  return run;
}

}  // namespace

LiveState::LiveState(std::string name) : name_(std::move(name)) {}

void LiveState::begin(std::shared_ptr<LiveFeed> feed) {
  const std::lock_guard lock(mutex_);
  feed_ = std::move(feed);
}

std::shared_ptr<void> LiveState::watch(Item item) {
  const std::lock_guard lock(mutex_);
  const auto place = items_.insert(items_.end(), std::move(item));
  return std::shared_ptr<void>(nullptr, [this, place](void*) {
    const std::lock_guard on_removal(mutex_);
    items_.erase(place);
  });
}

void LiveState::stopping() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
}

void LiveState::end(LiveEnd end) {
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(end);
  }
  changed_.notify_all();
}

Json LiveState::json() {
  const std::lock_guard lock(mutex_);
  Json json{{"name", name_},
            {"state", end_        ? "ended"
                      : stopping_ ? "stopping"
                                  : "running"},
            {"elapsed_s", std::chrono::duration<double>(Clock::now() - began_).count()},
            {"progress", Json::array()}};
  for (const Item& item : items_)
    json["progress"].push_back({{"label", item.label},
                                {"done", item.done()},
                                {"total", item.total},
                                {"share", item.share ? Json(item.share()) : Json()}});
  json["run"] = feed_ ? run_json(*feed_) : Json();
  json["waits"] = feed_ ? Json(feed_->waits.lines()) : Json::array();
  if (end_) json["ended"] = {{"verdict", end_->verdict}, {"reason", end_->reason}, {"folder", end_->folder}};
  if (feed_ && Clock::now() - asked_ >= kBetweenQuestions) {
    asked_ = Clock::now();
    feed_->waits.ask();
  }
  return json;
}

bool LiveState::wait(std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return end_.has_value(); });
}

bool LiveState::has_ended() const {
  const std::lock_guard lock(mutex_);
  return end_.has_value();
}

std::shared_ptr<LiveFeed> LiveState::feed() const {
  const std::lock_guard lock(mutex_);
  return feed_;
}

}  // namespace rankwire
