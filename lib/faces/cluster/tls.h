// TLS between two strings of bytes, from and to the network. Nothing here knows a socket.
#ifndef NESTLINE_LIB_FACES_CLUSTER_TLS_H_
#define NESTLINE_LIB_FACES_CLUSTER_TLS_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;
struct bio_st;

namespace nestline { inline namespace v0_3 { namespace cluster {

/// A sentence without its subject: "does not show a certificate that is trusted: ...".
struct TlsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What all connections of a client share: certificates and keys.
class TlsContext {
 public:
  /// Empty names: the certificates of the system, and no certificate of our own. Throws
  /// std::invalid_argument with a sentence that names the file, std::bad_alloc.
  TlsContext(const std::string& ca_file, const std::string& cert_file, const std::string& key_file,
             bool verify);
  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }
  [[nodiscard]] bool verifies() const noexcept { return verify_; }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
  bool verify_;
};

/// One connection, from this side.
class TlsSession {
 public:
  /// The certificate must be for `host`, a name or an address. Throws std::bad_alloc, TlsError.
  TlsSession(const TlsContext& context, const std::string& host);
  /// Takes bytes from the network. Throws std::bad_alloc.
  void put_encrypted(std::string_view bytes);
  /// Appends the bytes that must go to the network. Throws std::bad_alloc.
  void take_encrypted(std::string& bytes);
  bool shake_hands();  ///< goes on with the handshake; whether it is finished. Throws TlsError.
  void write(std::string_view plain);  ///< only after the handshake. Throws TlsError.
  bool read(std::string& plain);  ///< appends; false: the other side has ended. Throws TlsError.

 private:
  struct Free {
    void operator()(ssl_st* session) const noexcept;
  };
  std::unique_ptr<ssl_st, Free> session_;
  bio_st* in_ = nullptr;  // both belong to the session
  bio_st* out_ = nullptr;
  bool verify_;
};

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_TLS_H_
