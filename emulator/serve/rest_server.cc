#include "emulator/serve/rest_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/live/http_server.h"
#include "emulator/live/tls.h"
#include "emulator/serve/authorization.h"
#include "emulator/serve/request_rate.h"
#include "emulator/serve/serve_error.h"
#include "emulator/serve/serve_json.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kRequestTime{120};
/// Most of them wait: for a run to begin or to end, or for what their clients send.
constexpr int kMostConnections = 64;
constexpr std::chrono::milliseconds kBetweenStates{500};
constexpr size_t kMostViewers = 8;
constexpr const char *kJson = "application/json", *kBinary = "application/octet-stream";
/// snappi looks at a capture as text, too, and Python's requests tries all that it knows on bytes that do not say what
/// they are: minutes for some MB. These are.
constexpr const char* kCaptured = "application/octet-stream; charset=iso-8859-1";

void send_json(httplib::Response& response, int status, const Json& json) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", kJson);
}

std::optional<TlsFiles> tls_files(const ServeOptions& options) {
  if (options.certificate.empty()) return std::nullopt;
  return TlsFiles{options.certificate, options.key};
}

/// "/rankwire/runs/r000001/files/log.txt" in its parts.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at + 1), path.size());
    parts.push_back(path.substr(at + 1, end - at - 1));
    at = end;
  }
  return parts;
}

}  // namespace

class RestServer::Site {
 public:
  Site(const ServeOptions& options, std::string token, OtgService& service, RunQueue& queue, KeptRuns& store)
      : token_(std::move(token)),
        password_(httplib::make_basic_authentication_header("token", token_).second),
        service_(service),
        queue_(queue),
        store_(store),
        rate_(options.rate),
        most_body_(options.body),
        server_(parse_listen(options.listen, "--listen"),
                {.request_time = kRequestTime,
                 .most_body = options.body,
                 .most_connections = kMostConnections,
                 .refuses_more = true},
                tls_files(options)) {
    server_.on_error([](const httplib::Request&, httplib::Response& response) {
      if (response.get_header_value("Content-Type") == kJson) return;  // of `answer`
      std::string why = response.body.empty() ? fmt::format("refused with status {}", response.status) : response.body;
      if (why.ends_with('\n')) why.pop_back();
      send_json(response, response.status, otg_error(response.status, {why}));
    });
    server_.get_below("/", [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response, [&] { return get(request, response); });
    });
    server_.post_below(
        "/", [this](const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& body) {
          answer(request, response, [&] { return post(request, response, body); });
        });
    server_.patch_below(
        "/", [this](const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& body) {
          answer(request, response, [&] { return patch(request, response, body); });
        });
  }

  HttpServer& server() { return server_; }

 private:
  /// `work` says whether there is such a path.
  void answer(const httplib::Request& request, httplib::Response& response, const std::function<bool()>& work) {
    try {
      const std::string given = with_known_scheme(request.get_header_value("Authorization"));
      if (!token_.empty() && !equal_secrets(given, "Bearer " + token_) && !equal_secrets(given, password_))
        throw ServeError(401, "the token is missing or wrong: 'Authorization: Bearer TOKEN'");
      if (!rate_.take()) throw ServeError(429, "too many requests a second (--rate)");
      if (!work()) throw ServeError(404, fmt::format("nothing is served at {}", request.path));
    } catch (const ServeError& error) {
      send_json(response, error.status(), otg_error(error.status(), error.errors()));
    } catch (const std::exception& error) {
      send_json(response, 500, otg_error(500, {error.what()}));
    }
  }

  bool get(const httplib::Request& request, httplib::Response& response) {
    const std::vector<std::string> path = parts_of(request.path);
    if (request.path == "/config") return send(response, service_.get_config());
    if (request.path == "/capabilities/version") return send(response, service_.get_version());
    if (path.size() < 2 || path[0] != "rankwire") return false;
    if (path.size() == 2 && path[1] == "files") return send(response, files());
    if (path[1] != "runs") return false;
    if (path.size() == 2) return send(response, service_.list());
    if (path.size() == 3) return send(response, service_.describe(path[2]));
    if (path.size() == 4 && path[3] == "events") return send_events(path[2], response);
    if (path.size() == 5 && path[3] == "files") return send_file(store_.artefact(path[2], path[4]), response);
    return false;
  }

  bool post(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& body) {
    const std::vector<std::string> path = parts_of(request.path);
    using Operation = Json (OtgService::*)(const Json&);
    constexpr std::pair<std::string_view, Operation> kOperations[] = {
        {"/control/state", &OtgService::set_control_state},
        {"/monitor/metrics", &OtgService::get_metrics},
        {"/monitor/states", &OtgService::get_states},
    };
    if (request.path == "/config")
      return send(response,
                  service_.set_config(json_of(request, body, "no configuration came; {} takes away the one there is")));
    for (const auto& [name, operation] : kOperations)
      if (request.path == name) return send(response, (service_.*operation)(json_of(request, body)));
    if (request.path == "/monitor/capture") {
      response.set_content(service_.get_capture(json_of(request, body)), kCaptured);
      return true;
    }
    if (request.path == "/control/action") throw ServeError(501, "/control/action is not served");
    if (path.size() < 2 || path[0] != "rankwire") return false;
    if (path.size() == 3 && path[1] == "files") return take_file(path[2], request, response, body);
    if (path.size() == 4 && path[1] == "files" && path[3] == "delete") {
      read(request, body, [](std::string_view) { return true; });
      store_.remove_file(path[2]);
      response.status = 204;
      return true;
    }
    if (path[1] != "runs") return false;
    if (path.size() == 2) {
      send_json(response, 202, service_.submit(json_of(request, body)));
      return true;
    }
    if (path.size() != 4) return false;
    json_of(request, body);  // nothing that is sent is left unread
    if (path[3] == "hold" || path[3] == "release") {
      queue_.hold(path[2], path[3] == "hold");
      return send(response, service_.describe(path[2]));
    }
    if (path[3] == "stop") {
      queue_.stop(path[2]);
      return send(response, service_.describe(path[2]));
    }
    if (path[3] != "delete") return false;
    queue_.remove(path[2]);
    response.status = 204;
    return true;
  }

  bool patch(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& body) {
    // Lists of the model are fields of objects by gRPC, and some clients send these by HTTP, too.
    const auto listed = [&](const char* name) {
      const Json list = json_of(request, body);
      return list.is_array() ? Json{{name, list}} : list;
    };
    if (request.path == "/config") return send(response, service_.update_config(json_of(request, body)));
    if (request.path == "/config/append") return send(response, service_.append_config(listed("config_append_list")));
    if (request.path == "/config/delete") return send(response, service_.delete_config(listed("config_delete_list")));
    throw ServeError(405, "PATCH is of /config alone, and of what is below");
  }

  static bool send(httplib::Response& response, const Json& json) {
    send_json(response, 200, json);
    return true;
  }

  Json files() const {
    Json files = Json::array();
    for (const KeptRuns::KeptFile& file : store_.files())
      files.push_back({{"sha256", file.sha256}, {"bytes", file.bytes}, {"runs", file.runs}});
    return {{"files", files}};
  }

  /// Gives what is sent to `sink`, until that says no. Whether it came whole. Throws ServeError 413, and 415 for the
  /// form of a browser, which is no file but has some.
  bool read(const httplib::Request& request, const httplib::ContentReader& body,
            const std::function<bool(std::string_view piece)>& sink) const {
    if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) return true;
    if (request.is_multipart_form_data()) {
      body([](const httplib::MultipartFormData&) { return true; }, [](const char*, size_t) { return true; });
      throw ServeError(415,
                       "multipart/form-data is not served: what is sent is the file itself, as by curl "
                       "--data-binary @FILE in place of -F");
    }
    // What comes in chunks does not say how long it is. What is too much is read all the same, as far as the server
    // reads any request: who still sends does not hear an answer.
    uint64_t size = 0;
    const bool whole = body([&](const char* piece, size_t length) {
      size += length;
      return size > most_body_ || sink({piece, length});
    });
    uint64_t announced = 0;
    if (request.has_header("Content-Length")) announced = request.get_header_value<uint64_t>("Content-Length");
    if (std::max(size, announced) > most_body_)
      throw ServeError(413, fmt::format("a request of more than {} bytes (--body)", most_body_));
    return whole;
  }

  /// Nothing at all is an empty object, but with `if_empty` it is refused in these words.
  Json json_of(const httplib::Request& request, const httplib::ContentReader& body,
               const char* if_empty = nullptr) const {
    std::string text;
    bool is_small = true;
    const bool whole = read(request, body, [&](std::string_view piece) {
      is_small = text.size() + piece.size() <= kMostJson;
      if (is_small) text.append(piece);
      return is_small;
    });
    if (!is_small) throw ServeError(413, fmt::format("JSON of more than {} bytes", kMostJson));
    if (!whole) throw ServeError(400, "the request did not come whole");
    if (text.empty() && if_empty != nullptr) throw ServeError(400, if_empty);
    return parse_request(text);
  }

  bool take_file(const std::string& digest, const httplib::Request& request, httplib::Response& response,
                 const httplib::ContentReader& body) {
    uint64_t announced = 0;
    if (request.has_header("Content-Length")) announced = request.get_header_value<uint64_t>("Content-Length");
    if (announced > most_body_) announced = 0;  // `read` refuses it
    const bool is_new = store_.keep_file(
        digest, [&](const auto& sink) { return read(request, body, sink); }, announced);
    send_json(response, is_new ? 201 : 200, {{"sha256", digest}});
    return true;
  }

  static bool send_file(const std::filesystem::path& path, httplib::Response& response) {
    auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
    const auto size = static_cast<size_t>(std::filesystem::file_size(path));
    response.set_content_provider(size, kBinary, [file](size_t from, size_t most, httplib::DataSink& sink) {
      std::string piece(std::min<size_t>(most, 64 << 10), '\0');
      file->seekg(static_cast<std::streamoff>(from));
      file->read(piece.data(), static_cast<std::streamsize>(piece.size()));
      return file->gcount() > 0 && sink.write(piece.data(), static_cast<size_t>(file->gcount()));
    });
    return true;
  }

  /// Server-sent events: how the run is, with what its page shows, until it has ended.
  bool send_events(const std::string& id, httplib::Response& response) {
    service_.describe(id);  // 404
    if (viewers_.fetch_add(1) >= kMostViewers) {
      --viewers_;
      throw ServeError(503, "too many look on at a time");
    }
    auto is_first = std::make_shared<bool>(true);
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, id, is_first](size_t, httplib::DataSink& sink) {
          if (!std::exchange(*is_first, false)) std::this_thread::sleep_for(kBetweenStates);
          if (server_.is_stopping()) return false;
          Json state;
          try {
            state = service_.describe(id);
          } catch (const ServeError&) {
            return false;  // removed meanwhile
          }
          const bool has_ended = state["state"] == "ended";
          if (!has_ended) state["page"] = queue_.live(id);
          const std::string text = "data: " + state.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
          if (!sink.write(text.data(), text.size())) return false;
          if (has_ended) sink.done();
          return true;
        },
        [this](bool) { --viewers_; });
    return true;
  }

  const std::string token_;
  const std::string password_;  // the same as clients send it that know users and passwords alone, of the user "token"
  OtgService& service_;
  RunQueue& queue_;
  KeptRuns& store_;
  RequestRate rate_;
  const uint64_t most_body_;  // bytes
  std::atomic<size_t> viewers_{0};
  HttpServer server_;  // last: its threads use all of the above
};

RestServer::RestServer(const ServeOptions& options, std::string token, OtgService& service, RunQueue& queue,
                       KeptRuns& store)
    : site_(std::make_unique<Site>(options, std::move(token), service, queue, store)) {}

RestServer::~RestServer() = default;

void RestServer::start() {
  site_->server().start();
}

std::string RestServer::origin() const {
  return site_->server().origin();
}

bool RestServer::is_loopback() const {
  return site_->server().address().is_loopback();
}

}  // namespace rankwire
