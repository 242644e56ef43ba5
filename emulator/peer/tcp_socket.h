// TCP sockets that never wait.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rankwire {

/// A file descriptor; closed with its owner.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }

 private:
  int fd_;
};

/// A connection that was accepted.
class TcpStream {
 public:
  /// `fd` does not block. `peer` is its other end, "10.5.0.1:45812".
  TcpStream(FileDescriptor fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  enum class State { kOpen, kEnded };
  /// Appends what has arrived, at most `limit` bytes in one call. Throws Error(kRun) when the connection breaks.
  State receive(std::string& text, size_t limit);
  /// For short messages: throws Error(kRun) when the socket's buffer does not take it.
  void send(std::span<const char> message);

  const std::string& peer() const { return peer_; }

 private:
  FileDescriptor fd_;
  std::string peer_;
};

class TcpListener {
 public:
  /// "ADDRESS:PORT", "[IPV6]:PORT" or ":PORT" for all addresses. Throws Error: kInput for anything else, kRun when the
  /// address cannot be listened to.
  explicit TcpListener(const std::string& address);

  /// Where it listens: of a port 0 in its address, what the system chose.
  uint16_t port() const;
  /// A client that waits, if there is one.
  std::optional<TcpStream> accept();

 private:
  FileDescriptor fd_;
};

}  // namespace rankwire
