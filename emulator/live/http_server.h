// A small server for pages of this program's own: cpp-httplib, with what keeps others out and slow readers short.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "emulator/live/tls.h"

namespace rankwire {

/// Where a server listens.
struct ListenAddress {
  std::string host = "127.0.0.1";  ///< an IPv4 or IPv6 address
  uint16_t port = 0;               ///< 0: any that is free
  /// Of this host alone.
  bool is_loopback() const;
};

/// "127.0.0.1:8080", "[::1]:8080", "localhost:8080", or a port alone. Throws Error(kInput), naming `option`.
ListenAddress parse_listen(std::string_view text, std::string_view option);

/// 128 bits that nobody can guess, as 32 hexadecimal digits. Throws Error(kRun).
std::string random_token();
/// Takes as long wherever they differ.
bool equal_secrets(std::string_view a, std::string_view b) noexcept;

/// What a request may be; the defaults are for those of pages.
struct HttpLimits {
  std::chrono::seconds request_time{5};  ///< until it has come whole, at most
  size_t most_body = 4096;               ///< bytes
  int most_connections = 12;             ///< are served at a time, on a thread each
  bool refuses_more = false;             ///< with 503, rather than have them wait
  std::chrono::seconds start_time{5};    ///< of request_time, with a second more for each 64 KiB that have come
};

/// Answers requests on threads of its own. A request has an end after a time, which is short for one that does not come
/// (RequestPace), its head 32 KiB and its body a size at most; who does not read what it is sent for two seconds is
/// dropped; each connection carries one request. Of more connections than are served at a time a few wait, and the
/// kernel keeps others, unless they are refused. Bound to a loopback address it answers only who calls it by such a
/// name (a page elsewhere whose name comes to point here is not served), and it never answers a POST of another page.
/// Requests that are refused cost nobody else.
class HttpServer {
 public:
  using Handler = std::function<void(const httplib::Request& request, httplib::Response& response)>;

  /// Binds, but does not answer yet. With `tls` it speaks HTTPS. Throws Error(kInput) when the address cannot be had or
  /// the files are wrong.
  explicit HttpServer(const ListenAddress& where, HttpLimits limits = {}, const std::optional<TlsFiles>& tls = {});
  /// Ends all connections and threads, whatever their other ends do.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Before `start`. `path` is matched as it is, but in `get_below` as a prefix. Handlers run on several threads at a
  /// time. What a POST carries is read and thrown away.
  void get(const std::string& path, Handler handler);
  void get_below(const std::string& prefix, Handler handler);
  void post(const std::string& path, Handler handler);
  /// The same as a prefix, but the handler reads what it carries, which it does once.
  using BodyHandler = std::function<void(const httplib::Request& request, httplib::Response& response,
                                         const httplib::ContentReader& body)>;
  void post_below(const std::string& prefix, BodyHandler handler);
  /// Without one PATCH is refused.
  void patch_below(const std::string& prefix, BodyHandler handler);

  /// Before `start`. Is given each answer whose status is 400 or above before it goes; the body of one that the server
  /// refuses by itself says why in plain text, or is empty.
  void on_error(Handler handler);

  /// Threads are made here: they stay on the caller's CPUs.
  void start();
  /// Ends streams and connections. Does nothing when it has ended.
  void stop();
  /// Whether `stop` has been called: a stream then ends.
  bool is_stopping() const noexcept;

  const ListenAddress& address() const;
  /// "http://127.0.0.1:8080", with TLS "https://...".
  std::string origin() const;

 private:
  class Limited;
  const ListenAddress where_;
  const char* const scheme_;
  std::unique_ptr<Limited> server_;
  ListenAddress bound_;
  bool takes_patches_ = false;
  std::atomic<bool> gave_up_{false};  // the library listens no more
  std::thread thread_;
};

/// What a page has to do with frames.
enum class PageFrames : uint8_t {
  kNone,    ///< it is in none and has none
  kHas,     ///< it has some of this server
  kWithin,  ///< it may be in one of this server's pages
};
/// A page must load nothing from elsewhere and be in no frame of another. With a `nonce` its own scripts and styles
/// carry that; without they stand in the page.
void protect_page(httplib::Response& response, const std::string& nonce, PageFrames frames = PageFrames::kNone);

}  // namespace rankwire
