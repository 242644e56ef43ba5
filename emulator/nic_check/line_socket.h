// Lines of text over TCP, with a bound on how long a line may be and how long it may take.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rankwire {

/// What keeps a text from being "HOST:PORT" or "[IPV6]:PORT"; empty: nothing.
std::string wrong_address(const std::string& text);

/// One end of a connection. One thread.
class LineSocket {
 public:
  /// What a megabyte of memory takes as hexadecimal digits, and room for the rest.
  static constexpr size_t kLongest = (2 << 20) + 4096;

  /// Takes the descriptor over.
  explicit LineSocket(int fd) : fd_(fd) {}
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&&) = delete;

  /// Connects to "HOST:PORT" or "[IPV6]:PORT". Throws Error: kInput for another form, kRun when nobody answers.
  static LineSocket connect(const std::string& address);

  /// The next line without its end; absent when the other end has closed. Throws Error(kRun) when the connection
  /// breaks, a line is too long or it does not come in time.
  std::optional<std::string> read(std::chrono::milliseconds limit);
  void write(const std::string& line);

 private:
  int fd_;
  std::string received_;
};

/// Where connections come in.
class LineListener {
 public:
  /// "ADDRESS:PORT"; port 0: any that is free. Throws Error: kInput for another form, kRun when it cannot be had.
  explicit LineListener(const std::string& address);
  ~LineListener();
  LineListener(const LineListener&) = delete;
  LineListener& operator=(const LineListener&) = delete;

  uint16_t port() const;
  /// Absent when nobody has come within `limit`.
  std::optional<LineSocket> accept(std::chrono::milliseconds limit);

 private:
  int fd_;
};

}  // namespace rankwire
