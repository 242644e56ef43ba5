#include "emulator/live/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

/// What OpenSSL says of the last thing that went wrong.
std::string reason() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "it is no PEM file of that" : text;
}

// A stream as OpenSSL reads and writes it.
int write_below(BIO* bio, const char* from, int size) {
  return static_cast<int>(static_cast<SocketStream*>(BIO_get_data(bio))->write(from, static_cast<size_t>(size)));
}

int read_below(BIO* bio, char* to, int size) {
  return static_cast<int>(static_cast<SocketStream*>(BIO_get_data(bio))->read(to, static_cast<size_t>(size)));
}

long control_below(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing waits here
}

const BIO_METHOD* method() {
  static const BIO_METHOD* const made = [] {
    BIO_METHOD* const all = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream");
    BIO_meth_set_write(all, write_below);
    BIO_meth_set_read(all, read_below);
    BIO_meth_set_ctrl(all, control_below);
    BIO_meth_set_create(all, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    return all;
  }();
  return made;
}

int length_of(size_t size) {
  return static_cast<int>(std::min<size_t>(size, INT_MAX));
}

}  // namespace

TlsIdentity::TlsIdentity(const TlsFiles& files) : context_(SSL_CTX_new(TLS_server_method())) {
  if (!context_) fail_run("TLS: {}", reason());
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Nobody is asked for a passphrase.
  SSL_CTX_set_default_passwd_cb(context_.get(), [](char*, int, int, void*) { return -1; });
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str()) != 1)
    fail_input("--certificate {}: {}", files.certificate, reason());
  if (SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    fail_input("--key {}: {}; it takes the private key of {}, without passphrase", files.key, reason(),
               files.certificate);
}

TlsStream::TlsStream(const TlsIdentity& identity, SocketStream& below)
    : below_(below), ssl_(SSL_new(identity.context())) {
  BIO* const bio = ssl_ ? BIO_new(method()) : nullptr;
  if (bio == nullptr) {
    ssl_.reset();
    return;
  }
  BIO_set_data(bio, &below_);
  SSL_set_bio(ssl_.get(), bio, bio);  // which owns it now
}

TlsStream::~TlsStream() {
  if (accepted_) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

bool TlsStream::accept() noexcept {
  accepted_ = ssl_ && SSL_accept(ssl_.get()) == 1;
  return accepted_;
}

bool TlsStream::is_readable() const {
  return SSL_pending(ssl_.get()) > 0 || below_.is_readable();
}

ssize_t TlsStream::read(char* to, size_t size) {
  const int n = SSL_read(ssl_.get(), to, length_of(size));
  if (n > 0) return n;
  const bool ended = SSL_get_error(ssl_.get(), n) == SSL_ERROR_ZERO_RETURN;
  accepted_ = accepted_ && ended;  // after an error nothing more may be said
  return ended ? 0 : -1;
}

ssize_t TlsStream::write(const char* from, size_t size) {
  const int n = SSL_write(ssl_.get(), from, length_of(size));
  if (n > 0) return n;
  accepted_ = false;
  return -1;
}

}  // namespace rankwire
