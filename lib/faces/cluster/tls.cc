#include "lib/faces/cluster/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstddef>
#include <new>

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "unknown reason" : text;
}

[[noreturn]] void refuse_file(const std::string& what, const std::string& file) {
  throw std::invalid_argument("cannot use " + what + " in '" + file + "': " + reason());
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void TlsSession::Free::operator()(ssl_st* session) const noexcept { SSL_free(session); }

TlsContext::TlsContext(const std::string& ca_file, const std::string& cert_file,
                       const std::string& key_file, bool verify)
    : context_(SSL_CTX_new(TLS_client_method())), verify_(verify) {
  if (!context_) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context_.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context_.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context_.get());
  } else if (SSL_CTX_load_verify_locations(context_.get(), ca_file.c_str(), nullptr) != 1) {
    refuse_file("the certificates to trust", ca_file);
  }
  if (!cert_file.empty() &&
      SSL_CTX_use_certificate_chain_file(context_.get(), cert_file.c_str()) != 1) {
    refuse_file("the certificate of this client", cert_file);
  }
  if (!key_file.empty() &&
      SSL_CTX_use_PrivateKey_file(context_.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    refuse_file("the key of this client", key_file);
  }
}

TlsSession::TlsSession(const TlsContext& context, const std::string& host)
    : session_(SSL_new(context.get())), verify_(context.verifies()) {
  if (!session_) throw std::bad_alloc();
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (in_ == nullptr || out_ == nullptr) {
    BIO_free(in_);
    BIO_free(out_);
    throw std::bad_alloc();
  }
  BIO_set_mem_eof_return(in_, -1);  // no bytes: come again later
  SSL_set_bio(session_.get(), in_, out_);
  SSL_set_connect_state(session_.get());
  X509_VERIFY_PARAM* const parameters = SSL_get0_param(session_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) != 1) {
    ERR_clear_error();
    if (SSL_set1_host(session_.get(), host.c_str()) != 1 ||
        SSL_set_tlsext_host_name(session_.get(), host.c_str()) != 1) {
      throw TlsError("has no name for TLS: " + reason());
    }
  }
}

void TlsSession::put_encrypted(std::string_view bytes) {
  std::size_t taken = 0;  // memory takes all
  if (BIO_write_ex(in_, bytes.data(), bytes.size(), &taken) != 1) throw std::bad_alloc();
}

void TlsSession::take_encrypted(std::string& bytes) {
  std::array<char, 16384> some;
  for (std::size_t count = 0; BIO_read_ex(out_, some.data(), some.size(), &count) == 1;) {
    bytes.append(some.data(), count);
  }
}

bool TlsSession::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_.get());
  if (result == 1) return true;
  if (SSL_get_error(session_.get(), result) == SSL_ERROR_WANT_READ) return false;
  const long verified = verify_ ? SSL_get_verify_result(session_.get()) : X509_V_OK;
  if (verified != X509_V_OK) {
    throw TlsError(std::string("does not show a certificate that is trusted here: ") +
                   X509_verify_cert_error_string(verified) +
                   "; give the file of the authority's certificate, and connect by a name or "
                   "address that is in the server's");
  }
  throw TlsError("refuses TLS: " + reason() + "; check that this is its port for TLS");
}

void TlsSession::write(std::string_view plain) {
  for (std::size_t count = 0; !plain.empty(); plain.remove_prefix(count)) {
    ERR_clear_error();
    if (SSL_write_ex(session_.get(), plain.data(), plain.size(), &count) != 1) {
      throw TlsError("has broken off TLS: " + reason());
    }
  }
}

bool TlsSession::read(std::string& plain) {
  std::array<char, 16384> some;
  for (std::size_t count = 0;; plain.append(some.data(), count)) {
    ERR_clear_error();
    if (SSL_read_ex(session_.get(), some.data(), some.size(), &count) == 1) continue;
    const int error = SSL_get_error(session_.get(), 0);
    if (error == SSL_ERROR_WANT_READ) return true;
    if (error == SSL_ERROR_ZERO_RETURN) return false;
    throw TlsError("has broken off TLS: " + reason());
  }
}

}}}  // namespace nestline::cluster
