#include "emulator/nic_check/line_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addresses_of(const std::string& text, int flags) {
  if (const std::string wrong = wrong_address(text); !wrong.empty()) fail_input("{}", wrong);
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), text.c_str() + colon + 1, &hints, &list); error != 0)
    fail_input("'{}': {}", text, ::gai_strerror(error));
  return Addresses(list);
}

bool wait_for(int fd, short events, std::chrono::milliseconds limit) {
  pollfd waiting{fd, events, 0};
  return ::poll(&waiting, 1, static_cast<int>(limit.count())) > 0;
}

}  // namespace

// The resolver takes a port modulo 65536.
std::string wrong_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    return fmt::format("'{}' is not HOST:PORT", text);
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  if (const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
      error != std::errc() || rest != end)
    return fmt::format("'{}': the port is not 0 .. 65535", text);
  return {};
}

LineSocket::~LineSocket() {
  if (fd_ >= 0) ::close(fd_);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

LineSocket LineSocket::connect(const std::string& address) {
  const Addresses list = addresses_of(address, 0);
  int error = 0;
  for (const addrinfo* a = list.get(); a != nullptr; a = a->ai_next) {
    const int fd = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) continue;
    if (::connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return LineSocket(fd);
    }
    error = errno;
    ::close(fd);
  }
  fail_run("{}: {}", address, std::strerror(error));
}

std::optional<std::string> LineSocket::read(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  size_t looked_at = 0;
  while (true) {
    if (const size_t line = received_.find('\n', looked_at); line != std::string::npos) {
      std::string result = received_.substr(0, line);
      received_.erase(0, line + 1);
      return result;
    }
    looked_at = received_.size();
    if (received_.size() > kLongest) fail_run("a line is longer than {} bytes", kLongest);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait_for(fd_, POLLIN, left)) fail_run("no line within {} ms", limit.count());
    char piece[65536];
    const ssize_t n = ::recv(fd_, piece, sizeof piece, 0);
    if (n == 0) return std::nullopt;
    if (n < 0) fail_run("the connection broke: {}", std::strerror(errno));
    received_.append(piece, static_cast<size_t>(n));
  }
}

void LineSocket::write(const std::string& line) {
  const std::string text = line + "\n";
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0) fail_run("the connection broke: {}", std::strerror(errno));
    at += static_cast<size_t>(n);
  }
}

LineListener::LineListener(const std::string& address) {
  const Addresses list = addresses_of(address, AI_PASSIVE);
  fd_ = ::socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
  const int on = 1;
  if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd_ < 0 || ::bind(fd_, list->ai_addr, list->ai_addrlen) != 0 || ::listen(fd_, 1) != 0) {
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);
    fail_run("{}: {}", address, std::strerror(error));
  }
}

LineListener::~LineListener() {
  ::close(fd_);
}

uint16_t LineListener::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
  // The port stands at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::optional<LineSocket> LineListener::accept(std::chrono::milliseconds limit) {
  if (!wait_for(fd_, POLLIN, limit)) return std::nullopt;
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return LineSocket(fd);
}

}  // namespace rankwire
