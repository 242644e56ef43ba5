// One connection of a server.
#pragma once

#include <httplib.h>

#include <chrono>
#include <string>

namespace rankwire {

/// A connected socket with an end to everything: what its other end sends must have come after `kRequestTime`, in
/// `kRequestBytes`, and what it is sent it must take within `kWriteTime`. Borrows the socket.
class SocketStream final : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kRequestTime{5}, kWriteTime{2};
  static constexpr size_t kRequestBytes = 36 << 10;

  explicit SocketStream(socket_t descriptor) : descriptor_(descriptor), ends_(Clock::now() + kRequestTime) {}

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
  size_t left_ = kRequestBytes;
  std::string buffer_;
  size_t taken_ = 0;  // of buffer_
};

}  // namespace rankwire
