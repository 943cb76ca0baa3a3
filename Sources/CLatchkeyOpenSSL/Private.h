// What the files of this target share.
#ifndef CLATCHKEY_OPENSSL_PRIVATE_H
#define CLATCHKEY_OPENSSL_PRIVATE_H

#define _GNU_SOURCE

#include "CLatchkeyOpenSSL.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdatomic.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "OpenSSL 3.0 or later is needed"
#endif

struct copenssl_context {
    SSL_CTX *ssl;
    int64_t not_before;
    int64_t not_after;
    // The context whose bundle is to be read when an authority is missing, this one or another; null for none.
    copenssl_context *places;
    // The bundle of this context; null for none.
    char *bundle;
    pthread_mutex_t reading;
    atomic_int is_read;
};

struct copenssl_session {
    SSL *ssl;
    const char *reason;
    int descriptor;
    // Whether the last read was short: the socket is empty.
    unsigned char is_drained;
    unsigned char ends;
    unsigned char has_ended;
    unsigned char is_established;
    // After a failure nothing may be sent, not even close_notify (SSL_shutdown(3)).
    unsigned char is_broken;
    // A write to the socket has failed. What the peer sent before can still be read.
    unsigned char cannot_send;
    unsigned char saw_plain_http;
    // Whether the handshake has waited for authorities.
    unsigned char has_waited;
    // Handshake messages since the end of the handshake, or since the last data.
    unsigned int messages_in_a_row;
};

/// A time in seconds since 1970; 0 for none.
int64_t copenssl_seconds(const ASN1_TIME *time);

/// Writes the subject of a certificate in the form of RFC 2253. Returns 0 if it cannot.
int copenssl_write_subject(const X509 *certificate, char *subject, size_t room);

/// Gives a context its certificate chain, in PEM, and the times between which its certificate is valid.
copenssl_fault copenssl_use_chain(copenssl_context *context, const uint8_t *bytes, size_t count);

/// Gives a context the private key of its certificate, in PEM.
copenssl_fault copenssl_use_key(SSL_CTX *ssl, const uint8_t *bytes, size_t count);

/// Has a server accept the client certificates of authorities, in PEM.
copenssl_fault copenssl_trust_clients(SSL_CTX *ssl, const uint8_t *bytes, size_t count);

/// Has a client trust the authorities of a directory and a bundle; without a directory those of the system.
void copenssl_trust_places(copenssl_context *context, const char *directory, const char *bundle);

/// Has the handshakes of a context wait for the bundle of another one, or its own, when an authority is missing.
void copenssl_read_later(copenssl_context *context, copenssl_context *places);

#endif
