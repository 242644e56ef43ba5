// One connection of a server.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rankwire {

/// How long and how large what the other end sends may be.
struct RequestPace {
  std::chrono::seconds start_time;  ///< what has come allows for more: a second for each `kLeastRate` bytes
  std::chrono::seconds most_time;   ///< at most, whatever has come
  size_t most_bytes;                ///< head and body
};

/// A connected socket with an end to everything: what its other end sends must come at its pace, and what it is sent it
/// must take within `kWriteTime`. Borrows the socket.
class SocketStream final : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWriteTime{2};
  static constexpr int64_t kLeastRate = 64 << 10;  ///< bytes a second

  SocketStream(socket_t descriptor, const RequestPace& pace)
      : descriptor_(descriptor),
        due_(Clock::now() + pace.start_time),
        ends_(Clock::now() + pace.most_time),
        left_(pace.most_bytes) {}

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return descriptor_; }

 private:
  bool await_input() const;

  const socket_t descriptor_;
  Clock::time_point due_;  // of the next bytes
  const Clock::time_point ends_;
  size_t left_;
  std::string buffer_;
  size_t taken_ = 0;  // of buffer_
};

}  // namespace rankwire
