// One connection of a server.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>

namespace rankwire {

/// A connected socket with an end to everything: what its other end sends must have come in time, in
/// `kRequestBytes`, and what it is sent it must take within `kWriteTime`. Borrows the socket.
class SocketStream final : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWriteTime{2};

  /// A request is `most_bytes` long, head and body, and has come after `time`.
  SocketStream(socket_t descriptor, std::chrono::seconds time, size_t most_bytes)
      : descriptor_(descriptor), ends_(Clock::now() + time), left_(most_bytes) {}

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return descriptor_; }

 private:
  const socket_t descriptor_;
  const Clock::time_point ends_;
  size_t left_;
  std::string buffer_;
  size_t taken_ = 0;  // of buffer_
};

}  // namespace rankwire
