#include "emulator/serve/otg_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/serve/config_changes.h"
#include "emulator/serve/run_configuration.h"
#include "emulator/serve/run_order.h"
#include "emulator/serve/run_results.h"
#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kToBegin{60}, kToEnd{30};
/// How far what a run's page is told may be behind the run, and how long what it captures is on its way to its file.
constexpr std::chrono::milliseconds kPageIsBehind{500}, kUntilWritten{700};
constexpr uint64_t kLargestBlock = 8 << 10;  // bytes of a frame that is captured, more than it can be: ib_mtu is 4096

void refuse(RequestErrors errors) {
  if (!errors.empty()) throw ServeError(400, std::move(errors));
}

Json warning(const std::string& text) {
  return {{"warnings", text.empty() ? Json::array() : Json::array({text})}};
}

}  // namespace

OtgService::OtgService(KeptRuns& store, RunQueue& queue, std::vector<std::string> devices, std::chrono::seconds longest)
    : store_(store), queue_(queue), devices_(std::move(devices)), longest_(longest) {}

OtgService::Plan OtgService::plan(const Json& given) {
  RequestErrors errors;
  Plan plan{read_otg_config(given, errors), {}};
  for (size_t port = 0; port < plan.config.ports.size(); ++port)
    if (const std::string& device = plan.config.ports[port].location; !is_device_allowed(device, devices_))
      errors.push_back(fmt::format("ports: location '{}' is no device of this server (--device)", device));
  refuse(errors);
  const std::optional<AiWorkload>& workload = plan.config.ai_workload;
  plan.text = workload ? workload->configuration : run_configuration(plan.config, longest_);
  const std::string objection =
      queue_.objection(plan.text, workload ? workload->files : std::vector<OtgFile>(), devices_, errors);
  refuse(errors);
  if (!objection.empty()) throw ServeError(400, objection);
  return plan;
}

bool OtgService::is_under_way() const {
  return queue_.goes_on(run_);
}

Json OtgService::set_config(const Json& config) {
  const std::lock_guard lock(mutex_);
  return take(config);
}

Json OtgService::take(const Json& config) {
  if (is_under_way()) throw ServeError(409, fmt::format("run {} of the configuration goes on: stop it first", run_));
  // An empty configuration takes away the one there is, by the model.
  std::optional<Plan> plan;
  if (config != Json::object()) plan = this->plan(config);
  plan_ = std::move(plan);
  given_ = plan_ ? config : Json::object();
  run_.clear();
  captures_.clear();
  return warning("");
}

const OtgConfig& OtgService::changeable() const {
  if (!plan_) throw ServeError(400, "nothing is configured: set_config comes first");
  if (plan_->config.ai_workload) throw ServeError(400, "an ai_workload has no flows: set_config takes another one");
  if (is_under_way()) throw ServeError(409, fmt::format("run {} of the configuration goes on: stop it first", run_));
  return plan_->config;
}

Json OtgService::update_config(const Json& update) {
  const std::lock_guard lock(mutex_);
  RequestErrors errors;
  const Json changed = updated_config(given_, changeable(), update, errors);
  refuse(errors);
  return take(changed);
}

Json OtgService::append_config(const Json& append) {
  const std::lock_guard lock(mutex_);
  changeable();
  RequestErrors errors;
  const Json changed = appended_config(given_, append, errors);
  refuse(errors);
  return take(changed);
}

Json OtgService::delete_config(const Json& removal) {
  const std::lock_guard lock(mutex_);
  changeable();
  RequestErrors errors;
  const Json changed = reduced_config(given_, removal, errors);
  refuse(errors);
  return take(changed);
}

Json OtgService::get_config() {
  const std::lock_guard lock(mutex_);
  return given_;
}

Json OtgService::set_control_state(const Json& state) {
  std::unique_lock lock(mutex_);
  RequestErrors errors;
  JsonReader root(state, "", errors);
  const std::string choice = root.choice("choice", {"traffic", "protocol", "port"}).value_or("");
  std::optional<JsonReader> detail;
  if (choice.empty()) {
    for (const char* served : {"traffic", "protocol", "port"}) root.skip(served);
  } else {
    detail = root.object(choice.c_str());
  }
  root.end();
  if (!detail && errors.empty())
    root.fail("choice", "'traffic', 'protocol' or 'port' is to be there, and what it says");
  refuse(errors);
  if (choice == "port") return set_port(*detail);
  return choice == "traffic" ? set_traffic(*detail, lock) : set_protocol(*detail, lock);
}

Json OtgService::set_traffic(JsonReader& traffic, std::unique_lock<std::mutex>& lock) {
  RequestErrors errors;
  traffic.report_to(errors);
  traffic.only("choice", "flow_transmit");
  std::string state;
  if (std::optional<JsonReader> transmit = traffic.object("flow_transmit")) {
    state = transmit->choice("state", {"start", "stop", "pause", "resume"}).value_or("");
    if (!transmit->has("state")) transmit->fail("state", "is required");
    std::vector<std::string> names = transmit->texts("flow_names"), all;
    if (plan_)
      for (const OtgFlow& flow : plan_->config.flows) all.push_back(flow.name);
    std::sort(names.begin(), names.end());
    std::sort(all.begin(), all.end());
    if (!names.empty() && names != all)
      transmit->fail("flow_names", "flows start, stop and pause together: none or all of them");
    transmit->end();
  } else {
    traffic.fail("flow_transmit", "is required");
  }
  traffic.end();
  refuse(errors);
  if (state == "start") {
    start(lock);
  } else if (state == "stop") {
    stop(lock);
  } else {
    pause(state == "pause");
  }
  return warning("");
}

Json OtgService::set_protocol(JsonReader& protocol, std::unique_lock<std::mutex>& lock) {
  RequestErrors errors;
  protocol.report_to(errors);
  const std::string choice = protocol.choice("choice", {"all", "rocev2"}).value_or("all");
  std::string state;
  if (std::optional<JsonReader> detail = protocol.object(choice.c_str())) {
    if (choice == "all") {
      state = detail->choice("state", {"start", "stop"}).value_or("");
    } else {
      detail->only("choice", "peers");
      if (std::optional<JsonReader> peers = detail->object("peers")) {
        if (!peers->texts("peer_names").empty()) peers->fail("peer_names", "peers go up and down together: name none");
        state = peers->choice("state", {"up", "down"}).value_or("");
        peers->end();
      }
    }
    detail->end();
  }
  protocol.end();
  if (state.empty() && errors.empty()) protocol.fail("state", "is required");
  refuse(errors);
  if (state == "start" || state == "up") return warning("queue pairs are made when the traffic starts");
  stop(lock);
  return warning("");
}

Json OtgService::set_port(JsonReader& port) {
  RequestErrors errors;
  port.report_to(errors);
  port.only("choice", "capture");
  std::string state;
  std::vector<std::string> names;
  if (std::optional<JsonReader> capture = port.object("capture")) {
    state = capture->choice("state", {"start", "stop"}).value_or("");
    if (!capture->has("state")) capture->fail("state", "is required");
    names = capture->texts("port_names");
    for (const std::string& name : names) capturing_port(*capture, "port_names", name);
    if (names.empty() && plan_) {
      for (const OtgPort& one : plan_->config.ports)
        if (one.capture) names.push_back(one.name);
      if (names.empty()) capture->fail("port_names", "no port has 'captures' in the configuration");
    }
    if (!plan_) capture->fail("port_names", "nothing is configured: set_config comes first");
    capture->end();
  } else {
    port.fail("capture", "is required");
  }
  port.end();
  refuse(errors);
  for (const std::string& name : names) state == "start" ? start_capture(name) : stop_capture(name);
  return warning("");
}

const OtgPort& OtgService::capturing_port(JsonReader& request, const char* field, const std::string& name) const {
  static const OtgPort none;
  if (plan_)
    for (const OtgPort& port : plan_->config.ports)
      if (port.name == name && port.capture) return port;
  request.fail(field, fmt::format("no port with 'captures' in the configuration is called '{}'", name));
  return none;
}

/// What the page says is behind the run: a capture has what came since, and may have a little more.
void OtgService::start_capture(const std::string& port) {
  Capture& capture = captures_[port] = {};
  if (is_under_way()) capture.from = static_cast<uint64_t>(live_figures(queue_.live(run_)).seconds * 1e12);
}

void OtgService::stop_capture(const std::string& port) {
  const auto capture = captures_.find(port);
  if (capture == captures_.end() || !std::exchange(capture->second.is_on, false) || !is_under_way()) return;
  constexpr std::chrono::duration<double> kBehind = kPageIsBehind;
  capture->second.to = static_cast<uint64_t>((live_figures(queue_.live(run_)).seconds + kBehind.count()) * 1e12);
}

std::string OtgService::get_capture(const Json& request) {
  const std::lock_guard lock(mutex_);
  RequestErrors errors;
  JsonReader root(request, "", errors);
  const std::string name = root.required_text("port_name");
  CaptureSelection selection;
  if (std::optional<JsonReader> packets = root.object("packets")) {
    const bool is_slice = packets->choice("choice", {"all", "slice"}).value_or("all") == "slice";
    if (std::optional<JsonReader> slice = is_slice ? packets->object("slice") : std::nullopt) {
      slice->only("choice", "initial");
      std::optional<JsonReader> initial = slice->object("initial");
      if (initial) selection.first = initial->number("start", 1, UINT64_MAX).value_or(1);
      selection.most = initial ? initial->number("count", 1, UINT64_MAX).value_or(100) : 100;
      if (initial) initial->end();
      slice->end();
    }
    packets->end();
  }
  root.end();
  refuse(errors);
  const OtgPort& port = capturing_port(root, "port_name", name);
  refuse(errors);
  const auto captured = captures_.find(name);
  if (captured == captures_.end()) throw ServeError(400, fmt::format("no capture was started on port '{}'", name));
  stop_capture(name);
  selection.from = captured->second.from, selection.to = captured->second.to;
  // What a run captured is in its file after half a second.
  if (is_under_way()) queue_.await(run_, RunState::kStopping, kUntilWritten);
  const std::filesystem::path file = run_.empty() ? "" : store_.folder(run_) / "out" / "capture.pcapng";
  PortCapture capture = read_port_capture(file, "switch." + name, name, *port.capture, selection);
  const bool is_full = capture.bytes + kLargestBlock > capture_room_;
  if (is_full && selection.to > capture.last && (port.capture->overwrites || selection.from > capture.last))
    throw ServeError(507, fmt::format("the {} bytes for what ports capture were full {:.3f} s after the run began, and "
                                      "nothing is overwritten: what came before is had with 'overwrite': false",
                                      capture_room_, static_cast<double>(capture.last) / 1e12));
  return std::move(capture.file);
}

void OtgService::start(std::unique_lock<std::mutex>& lock) {
  if (!plan_) throw ServeError(400, "nothing is configured: set_config comes first");
  // Where several runs go on beside each other the queue would take a second one of the same configuration, and nobody
  // could stop the first by the API.
  if (is_under_way()) throw ServeError(409, fmt::format("run {} goes on: stop it first", run_));
  const RunOrder order = order_run(plan_->config, plan_->text, store_, longest_);
  const std::string run = queue_.submit(order.text, order.files, true, order.room);
  run_ = run;
  capture_room_ = order.capture;
  final_.reset();
  looks_.clear();
  collectives_.reset();
  // What was captured of the run before goes with it.
  std::erase_if(captures_, [](const auto& of_port) { return !of_port.second.is_on; });
  for (auto& [port, capture] : captures_) capture = {};
  lock.unlock();
  const RunStatus status = queue_.await(run, RunState::kStarting, kToBegin);
  if (status.state <= RunState::kStarting)
    throw ServeError(503, fmt::format("run {} has not begun after {} s; it still may", run, kToBegin.count()));
  // Somebody else, or the quota. Whether it had begun by then, and nobody had looked yet, is no matter.
  if (status.is_cut_short)
    throw ServeError(409,
                     fmt::format("run {}: {}", run, status.reason.empty() ? "stopped before it began" : status.reason));
  // What ended before anybody looked has run, unless it was refused.
  if (status.state == RunState::kEnded && summary_of_run(store_.folder(run) / "out").is_null())
    throw ServeError(status.exit_status == 2 ? 400 : 500,
                     fmt::format("run {}: {}", run, status.reason.empty() ? status.last_words : status.reason));
}

void OtgService::stop(std::unique_lock<std::mutex>& lock) {
  if (!is_under_way()) return;
  const std::string run = run_;
  queue_.stop(run);
  lock.unlock();
  if (queue_.await(run, RunState::kStopping, kToEnd).state != RunState::kEnded)
    throw ServeError(503, fmt::format("run {} has been told to end, and still writes what it measured", run));
}

void OtgService::pause(bool paused) {
  if (!is_under_way()) throw ServeError(409, "no traffic goes on: it begins with 'start'");
  queue_.hold(run_, paused);
}

RunFigures OtgService::figures() {
  if (run_.empty()) return {};
  if (!is_under_way()) {
    if (!final_) final_ = final_figures(store_.folder_of(run_) / "out");
    return *final_;
  }
  RunFigures figures = live_figures(queue_.live(run_));
  figures.is_paused = queue_.status(run_).is_held;
  return figures;
}

Json OtgService::collectives() {
  if (run_.empty() || is_under_way()) return Json::array();
  if (!collectives_) collectives_ = collective_figures(store_.folder_of(run_) / "out");
  if (!collectives_)
    throw ServeError(
        507, fmt::format("there are too many operations; they are in /rankwire/runs/{}/files/operations.csv", run_));
  return *collectives_;
}

Json OtgService::get_metrics(const Json& request) {
  const std::lock_guard lock(mutex_);
  static const OtgConfig nothing;
  RequestErrors errors;
  RunFigures now = figures();
  if (request.is_object() && request.contains("choice") && request["choice"] == "collective")
    now.collectives = collectives();
  for (const auto& [port, capture] : captures_)
    if (capture.is_on) now.capturing.insert(port);
  Json answer = otg_metrics(request, plan_ ? plan_->config : nothing, now, looks_.before(now), errors);
  refuse(errors);
  if (now.is_transmitting) looks_.add(std::move(now));
  return answer;
}

Json OtgService::get_states(const Json& request) {
  const std::lock_guard lock(mutex_);
  static const OtgConfig nothing;
  RequestErrors errors;
  // Next hops are resolved before a run begins; without one nothing is known.
  Json answer = otg_states(request, plan_ && !run_.empty() ? plan_->config : nothing, errors);
  refuse(errors);
  return answer;
}

Json OtgService::get_version() {
  return {{"api_spec_version", kOtgVersion}, {"sdk_version", ""}, {"app_version", RANKWIRE_SERVE_VERSION}};
}

Json OtgService::submit(const Json& config) {
  const Plan plan = this->plan(config);
  const RunOrder order = order_run(plan.config, plan.text, store_, longest_);
  return describe(queue_.submit(order.text, order.files, false, order.room));
}

Json OtgService::describe(const std::string& id) {
  return describe(queue_.status(id));
}

Json OtgService::list() {
  Json runs = Json::array();
  for (const RunStatus& status : queue_.all()) runs.push_back(describe(status));
  return {{"runs", runs}};
}

Json OtgService::describe(const RunStatus& status) const {
  const std::string id = status.id;
  Json run{{"id", id}, {"state", name_of(status.state)}, {"files", store_.artefacts(id)}};
  if (status.exit_status) run["exit_status"] = *status.exit_status;
  if (status.is_held) run["is_held"] = true;
  if (!status.live.empty()) run["live"] = status.live;
  if (!status.last_words.empty()) run["last_words"] = status.last_words;
  if (status.state != RunState::kEnded) return run;
  if (const Json summary = summary_of_run(store_.folder(id) / "out"); !summary.is_null())
    for (const char* field : {"verdict", "reason"}) run[field] = summary.value(field, Json());
  if (status.reason.empty()) return run;
  if (!run.contains("verdict")) run["verdict"] = "interrupted";
  run["reason"] = status.reason;
  return run;
}

}  // namespace rankwire
