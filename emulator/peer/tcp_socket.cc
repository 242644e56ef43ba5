#include "emulator/peer/tcp_socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr int kBacklog = 16;

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size())
    fail_input("'{}' is no address to listen at: ADDRESS:PORT, [IPV6]:PORT or :PORT is expected", address);
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int status = getaddrinfo(host.empty() ? nullptr : host.c_str(), address.c_str() + colon + 1, &hints, &list);
  if (status != 0) fail_input("'{}' is no address to listen at: {}", address, gai_strerror(status));
  return {list, &freeaddrinfo};
}

std::string name_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int status = getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(),
                                 port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return status == 0 ? fmt::format("{}:{}", host.data(), port.data()) : "unknown";
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

TcpStream::State TcpStream::receive(std::string& text, size_t limit) {
  std::array<char, 1024> bytes;
  const ssize_t n = ::recv(fd_.get(), bytes.data(), std::min(limit, bytes.size()), 0);
  if (n > 0) text.append(bytes.data(), static_cast<size_t>(n));
  if (n == 0) return State::kEnded;
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    fail_run("the connection broke: {}", std::strerror(errno));
  return State::kOpen;
}

void TcpStream::send(std::span<const char> message) {
  const ssize_t n = ::send(fd_.get(), message.data(), message.size(), MSG_NOSIGNAL);
  if (n == static_cast<ssize_t>(message.size())) return;
  fail_run("the connection does not take an answer: {}", n < 0 ? std::strerror(errno) : "its buffer is full");
}

TcpListener::TcpListener(const std::string& address) {
  const AddressList list = resolve(address);
  fd_ = FileDescriptor(::socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd_.get() < 0 || ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd_.get(), list->ai_addr, list->ai_addrlen) != 0 || ::listen(fd_.get(), kBacklog) != 0)
    fail_run("cannot listen at {}: {}", address, std::strerror(errno));
}

uint16_t TcpListener::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  // sin_port and sin6_port stand at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::optional<TcpStream> TcpListener::accept() {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const int fd = ::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  // A client that gave up while it waited is no error.
  if (fd < 0) return std::nullopt;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return TcpStream(FileDescriptor(fd), name_of(address, length));
}

}  // namespace rankwire
