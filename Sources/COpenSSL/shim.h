// OpenSSL for the Crypto room. Only macros that Swift cannot import get a function here.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline int COpenSSL_set_min_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version) == 1;
}

static inline void COpenSSL_set_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_mode(context, mode);
}

static inline void COpenSSL_set_session_cache_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_session_cache_mode(context, mode);
}

static inline int COpenSSL_set_server_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name) == 1;
}

static inline void COpenSSL_set_retry_read(BIO *bio) {
    BIO_set_retry_read(bio);
}

static inline void COpenSSL_clear_retry_flags(BIO *bio) {
    BIO_clear_retry_flags(bio);
}

static inline uint64_t COpenSSL_no_renegotiation(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION;
}
