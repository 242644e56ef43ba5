#include "emulator/live/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/error.h"
#include "emulator/live/socket_stream.h"

namespace rankwire {
namespace {

constexpr size_t kMostWaiting = 8, kMostHead = 32 << 10;
constexpr int kRefusing = 2;  // threads beside those that serve, where others are refused
constexpr std::chrono::milliseconds kUntilAsked{50};
constexpr int kBacklog = 128;  // connections that the kernel keeps

/// Threads that serve connections. Who adds one waits while too many do.
class Servants final : public httplib::TaskQueue {
 public:
  explicit Servants(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return tasks_.size() < kMostWaiting; });
    tasks_.push_back(std::move(task));
    work_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [this] { return !tasks_.empty() || ends_; });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      room_.notify_one();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  bool ends_ = false;
};

std::string bracketed(const ListenAddress& where) {
  const bool is_ipv6 = where.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", where.host, is_ipv6 ? "]" : "", where.port);
}

/// Of "host:port", the host.
std::string_view host_of(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  const size_t bracket = authority.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return authority;
  return authority.substr(0, colon);
}

bool names_loopback(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

/// Bytes as which so many travel at most: who sends small records takes more, and is dropped before its end.
size_t encrypted_size(size_t plain) {
  constexpr size_t kHandshake = 16 << 10;
  return kHandshake + plain + plain / 16;
}

void refuse(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(std::string(why) + "\n", "text/plain");
}

}  // namespace

/// What httplib leaves open: an end to each connection, whatever its other end does.
class HttpServer::Limited final : public httplib::Server {
 public:
  Limited(HttpLimits limits, const std::optional<TlsFiles>& tls) : limits_(limits) {
    if (tls) identity_.emplace(*tls);
  }

  void end_connections() {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    for (const socket_t open : open_) ::shutdown(open, SHUT_RDWR);
  }
  bool ends() const noexcept { return ends_; }
  /// Before anybody is served.
  void on_error(const Handler& handler) {
    on_error_ = handler;
    set_error_handler(handler);
  }

 private:
  bool process_and_close_socket(socket_t descriptor) override {
    bool is_full = false;
    {
      const std::lock_guard lock(mutex_);
      if (ends_) ::shutdown(descriptor, SHUT_RDWR);
      is_full = limits_.refuses_more && served_ >= limits_.most_connections;
      if (!is_full) ++served_;
      open_.insert(descriptor);
    }
    const bool done = is_full ? turn_away(descriptor) : serve(descriptor);
    const std::lock_guard lock(mutex_);
    if (!is_full) --served_;
    open_.erase(descriptor);
    ::shutdown(descriptor, SHUT_RDWR);
    ::close(descriptor);
    return done;
  }

  /// Takes no more than a moment, whatever the other end does. One that wants TLS hears nothing: agreeing takes time.
  bool turn_away(socket_t descriptor) const {
    if (identity_) return false;
    httplib::Response response;
    refuse(response, 503, "too many connections at a time");
    if (on_error_) on_error_({}, response);
    const std::string text = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: {}\r\nContent-Type: {}\r\n"
        "Content-Length: {}\r\n\r\n{}",
        limits_.start_time.count(), response.get_header_value("Content-Type"), response.body.size(), response.body);
    ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::shutdown(descriptor, SHUT_WR);
    // Closed with something unread the answer could be lost on its way.
    pollfd asked{descriptor, POLLIN, 0};
    char unread[4096];
    if (::poll(&asked, 1, static_cast<int>(kUntilAsked.count())) > 0)
      for (size_t all = 0; all < kMostHead;) {
        const ssize_t n = ::recv(descriptor, unread, sizeof unread, MSG_DONTWAIT);
        if (n <= 0) break;
        all += static_cast<size_t>(n);
      }
    return true;
  }

  bool serve(socket_t descriptor) {
    bool closed = false;
    const size_t most = kMostHead + limits_.most_body;
    SocketStream stream(descriptor,
                        {limits_.start_time, limits_.request_time, identity_ ? encrypted_size(most) : most});
    if (!identity_) return process_request(stream, true, closed, nullptr);
    TlsStream encrypted(*identity_, stream);
    return encrypted.accept() && process_request(encrypted, true, closed, nullptr);
  }

  const HttpLimits limits_;
  std::optional<TlsIdentity> identity_;
  std::mutex mutex_;
  std::set<socket_t> open_;
  int served_ = 0;  // of those
  Handler on_error_;
  std::atomic<bool> ends_{false};
};

bool ListenAddress::is_loopback() const {
  return host == "::1" || host.starts_with("127.");
}

ListenAddress parse_listen(std::string_view text, std::string_view option) {
  ListenAddress where;
  const size_t colon = text.rfind(':');
  std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    where.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), where.port);
  const bool is_number = !port.empty() && error == std::errc() && end == port.data() + port.size();
  if (!is_number || !parse_ip(where.host))
    fail_input("{}: '{}' is not ADDRESS:PORT, such as 127.0.0.1:8080; port 0 takes any that is free", option, text);
  return where;
}

std::string random_token() {
  std::array<uint8_t, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail_run("no random numbers for the page's token: {}", std::strerror(errno));
  std::string token;
  for (const uint8_t byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool equal_secrets(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

HttpServer::HttpServer(const ListenAddress& where, HttpLimits limits, const std::optional<TlsFiles>& tls)
    : where_(where), scheme_(tls ? "https://" : "http://") {
  // The library ignores SIGPIPE for the whole process; its sockets here do not raise it.
  struct sigaction of_pipes {};
  sigaction(SIGPIPE, nullptr, &of_pipes);
  server_ = std::make_unique<Limited>(limits, tls);
  sigaction(SIGPIPE, &of_pipes, nullptr);
  const int threads = limits.most_connections + (limits.refuses_more ? kRefusing : 0);
  server_->new_task_queue = [threads] { return new Servants(threads); };
  server_->set_payload_max_length(limits.most_body);
  // SO_REUSEPORT, which the library sets, would let two programs share a port.
  auto listening = std::make_shared<socket_t>(-1);
  server_->set_socket_options([listening](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    *listening = socket;
  });
  server_->set_default_headers({{"Cache-Control", "no-store"},
                                {"Referrer-Policy", "no-referrer"},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Cross-Origin-Resource-Policy", "same-origin"}});
  server_->set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    using Result = httplib::Server::HandlerResponse;
    const std::string host = request.get_header_value("Host");
    const std::string site = request.get_header_value("Origin");
    const bool is_known = !where_.is_loopback() || names_loopback(host_of(host)) || host_of(host) == where_.host;
    if (!is_known) {
      refuse(response, 421, "this server is known by loopback names alone");
    } else if (request.method != "GET" && request.method != "POST" && !(takes_patches_ && request.method == "PATCH")) {
      refuse(response, 405, takes_patches_ ? "GET, POST and PATCH alone" : "GET and POST alone");
    } else if (!site.empty() && site != scheme_ + host) {
      refuse(response, 403, "asked by another page");
    } else {
      return Result::Unhandled;
    }
    return Result::Handled;
  });
  bound_ = where_;
  errno = 0;
  const int port = where.port == 0                                 ? server_->bind_to_any_port(where.host)
                   : server_->bind_to_port(where.host, where.port) ? where.port
                                                                   : -1;
  if (port <= 0)
    fail_input("cannot listen on {}: {}", bracketed(where),
               errno == EADDRINUSE ? "another program does; port 0 takes any that is free" : std::strerror(errno));
  bound_.port = static_cast<uint16_t>(port);
  // The library lets 5 wait to be accepted; whoever comes beyond that tries again after a second, and then after two.
  ::listen(*listening, kBacklog);
}

HttpServer::~HttpServer() {
  stop();
}

namespace {

/// A path as a regular expression that matches it alone.
std::string exactly(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (std::strchr(".^$|()[]{}*+?\\", c) != nullptr) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

void HttpServer::get(const std::string& path, Handler handler) {
  server_->Get(exactly(path), std::move(handler));
}

void HttpServer::get_below(const std::string& prefix, Handler handler) {
  server_->Get(exactly(prefix) + ".*", std::move(handler));
}

void HttpServer::post(const std::string& path, Handler handler) {
  // Who sends no body need not say how long it is, as the library's plain handlers want it.
  server_->Post(exactly(path),
                [handler = std::move(handler)](const httplib::Request& request, httplib::Response& response,
                                               const httplib::ContentReader& read) {
                  const bool has_body = request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
                  if (!has_body || read([](const char*, size_t) { return true; })) handler(request, response);
                });
}

void HttpServer::post_below(const std::string& prefix, BodyHandler handler) {
  server_->Post(exactly(prefix) + ".*", std::move(handler));
}

void HttpServer::patch_below(const std::string& prefix, BodyHandler handler) {
  takes_patches_ = true;
  server_->Patch(exactly(prefix) + ".*", std::move(handler));
}

void HttpServer::on_error(Handler handler) {
  server_->on_error(handler);
}

void HttpServer::start() {
  thread_ = std::thread([this] {
    server_->listen_after_bind();
    gave_up_ = true;
  });
  while (!server_->is_running() && !gave_up_) std::this_thread::yield();
}

void HttpServer::stop() {
  if (!thread_.joinable()) return;
  server_->end_connections();
  server_->stop();
  thread_.join();
}

bool HttpServer::is_stopping() const noexcept {
  return server_->ends();
}

const ListenAddress& HttpServer::address() const {
  return bound_;
}

std::string HttpServer::origin() const {
  return scheme_ + bracketed(bound_);
}

void protect_page(httplib::Response& response, const std::string& nonce, PageFrames frames) {
  const std::string own = nonce.empty() ? "'unsafe-inline'" : "'nonce-" + nonce + "'";
  response.set_header(
      "Content-Security-Policy",
      fmt::format("default-src 'none'; script-src {0}; style-src {0}; img-src data:; connect-src {1}; frame-src {2}; "
                  "base-uri 'none'; form-action 'none'; frame-ancestors {3}",
                  own, nonce.empty() ? "'none'" : "'self'", frames == PageFrames::kHas ? "'self'" : "'none'",
                  frames == PageFrames::kWithin ? "'self'" : "'none'"));
}

}  // namespace rankwire
