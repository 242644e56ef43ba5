#include "emulator/live/socket_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace rankwire {
namespace {

/// Whether the socket is ready for `events` before `end`.
bool await_socket(socket_t descriptor, short events, SocketStream::Clock::time_point end) {
  using std::chrono::milliseconds;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - SocketStream::Clock::now());
    if (left <= milliseconds(0)) return false;
    pollfd wanted{descriptor, events, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

bool SocketStream::is_readable() const {
  return taken_ < buffer_.size() || await_input();
}

bool SocketStream::await_input() const {
  // What has come while this machine had no time for it is not late.
  const auto soon = Clock::now() + std::chrono::milliseconds(1);
  return await_socket(descriptor_, POLLIN, std::min(std::max(due_, soon), ends_));
}

bool SocketStream::is_writable() const {
  // What the other end has closed is readable, and has nothing.
  char byte;
  const ssize_t n = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) return false;
  return await_socket(descriptor_, POLLOUT, Clock::now() + kWriteTime);
}

ssize_t SocketStream::read(char* to, size_t size) {
  if (taken_ == buffer_.size()) {
    if (left_ == 0 || !await_input()) return -1;
    buffer_.resize(std::min<size_t>(left_, 4096));
    const ssize_t n = ::recv(descriptor_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    buffer_.resize(n > 0 ? static_cast<size_t>(n) : 0);
    taken_ = 0;
    if (n <= 0) return n;
    left_ -= buffer_.size();
    due_ += std::chrono::nanoseconds(1'000'000'000 * static_cast<int64_t>(buffer_.size()) / kLeastRate);
  }
  const size_t n = std::min(size, buffer_.size() - taken_);
  std::memcpy(to, buffer_.data() + taken_, n);
  taken_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t SocketStream::write(const char* from, size_t size) {
  const auto end = Clock::now() + kWriteTime;
  size_t sent = 0;
  while (sent < size) {
    const ssize_t n = ::send(descriptor_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<size_t>(n);
    } else if ((errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) ||
               !await_socket(descriptor_, POLLOUT, end)) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

// Nobody asks: it stands in no answer.
void SocketStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear(), port = 0;
}

void SocketStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear(), port = 0;
}

}  // namespace rankwire
