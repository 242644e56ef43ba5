// Connections that nobody else reads: TLS 1.2 and 1.3, by OpenSSL.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "emulator/live/socket_stream.h"

namespace rankwire {

/// PEM files of a server that says who it is: its certificate, and behind it those of who signed it, and its private
/// key, which has no passphrase.
struct TlsFiles {
  std::string certificate, key;
};

/// What all connections of a server share. Constant once it is made.
class TlsIdentity {
 public:
  /// Throws Error(kInput) naming the file that cannot be read, is no PEM, or does not belong to the other.
  explicit TlsIdentity(const TlsFiles& files);

  SSL_CTX* context() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

/// What travels encrypted over a stream, whose ends to time and size hold here, too. Borrows both. One thread.
class TlsStream final : public httplib::Stream {
 public:
  TlsStream(const TlsIdentity& identity, SocketStream& below);
  /// Tells the other end that nothing follows.
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// Agrees on how to go on. False when the other end does not, such as one that speaks HTTP: there is no use then.
  bool accept() noexcept;

  bool is_readable() const override;
  bool is_writable() const override { return below_.is_writable(); }
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override { below_.get_remote_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { below_.get_local_ip_and_port(ip, port); }
  socket_t socket() const override { return below_.socket(); }

 private:
  struct Free {
    void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  };
  SocketStream& below_;
  std::unique_ptr<SSL, Free> ssl_;
  bool accepted_ = false;
};

}  // namespace rankwire
