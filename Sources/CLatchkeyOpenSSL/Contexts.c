// TLS contexts: what the connections of a server, or of a client with one certificate, have in common.
#include "Private.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

static const unsigned char protocol[] = "\x08http/1.1";

// RFC 7301 section 3.2: a client that offers only other protocols gets an alert.
static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_count, const unsigned char *offered,
                           unsigned int count, void *unused) {
    (void)ssl;
    (void)unused;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_count, protocol, sizeof protocol - 1, offered, count) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

// TLS 1.2 with forward secrecy and authenticated encryption only; all ciphers of TLS 1.3 have both.
static const char ciphers[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                              "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                              "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

static int set_server_rules(SSL_CTX *ssl) {
    static const unsigned char name[] = "latchkey";
    SSL_CTX_set_security_level(ssl, 2);
    // An end without close_notify is accepted: HTTP knows whether a message is complete.
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                 SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Idle connections keep no buffers.
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(ssl, 1);
    // Sessions are resumed with tickets, which clients keep.
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ssl, select_protocol, NULL);
    if (SSL_CTX_set1_groups_list(ssl, "X25519MLKEM768:X25519:P-256:P-384") != 1 &&
        SSL_CTX_set1_groups_list(ssl, "X25519:P-256:P-384") != 1) {
        return 0;
    }
    ERR_clear_error();
    return SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1 && SSL_CTX_set_cipher_list(ssl, ciphers) == 1 &&
           SSL_CTX_set_session_id_context(ssl, name, sizeof name - 1) == 1;
}

static int set_client_rules(SSL_CTX *ssl) {
    SSL_CTX_set_security_level(ssl, 2);
    // An end without close_notify is an error: a body may be cut short.
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    X509_VERIFY_PARAM *rules = SSL_CTX_get0_param(ssl);
    // An authority to trust need not be self-signed.
    // Of TLS 1.2, more than a server of ours accepts, as a carrier may be older; but not without forward secrecy.
    return SSL_CTX_set_cipher_list(ssl, "ECDHE+HIGH:DHE+HIGH:!aNULL") == 1 &&
           X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST) == 1 &&
           SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_alpn_protos(ssl, protocol, sizeof protocol - 1) == 0;
}

// A context with its rules; null without memory.
static copenssl_context *begin(const SSL_METHOD *method, int (*set_rules)(SSL_CTX *)) {
    copenssl_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    pthread_mutex_init(&context->reading, NULL);
    ERR_clear_error();
    context->ssl = SSL_CTX_new(method);
    if (context->ssl != NULL && set_rules(context->ssl)) {
        ERR_clear_error();
        return context;
    }
    copenssl_context_free(context);
    return NULL;
}

static copenssl_fault present(copenssl_context *context, const uint8_t *chain, size_t chain_count, const uint8_t *key,
                              size_t key_count) {
    copenssl_fault fault = copenssl_use_chain(context, chain, chain_count);
    ERR_clear_error();
    return fault == COPENSSL_SOUND ? copenssl_use_key(context->ssl, key, key_count) : fault;
}

// The context if it is sound, else null, and why.
static copenssl_context *end(copenssl_context *context, copenssl_fault found, copenssl_fault *fault,
                             const char **reason) {
    *fault = found;
    *reason = found == COPENSSL_SOUND ? NULL : ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    if (found == COPENSSL_SOUND) return context;
    copenssl_context_free(context);
    return NULL;
}

copenssl_context *copenssl_context_make(const uint8_t *chain, size_t chain_count, const uint8_t *key, size_t key_count,
                                        const uint8_t *authorities, size_t authorities_count, copenssl_clients clients,
                                        copenssl_fault *fault, const char **reason) {
    copenssl_context *context = begin(TLS_server_method(), set_server_rules);
    if (context == NULL) return end(NULL, COPENSSL_NO_MEMORY, fault, reason);
    copenssl_fault found = present(context, chain, chain_count, key, key_count);
    if (found == COPENSSL_SOUND && clients != COPENSSL_CLIENTS_UNASKED) {
        ERR_clear_error();
        found = copenssl_trust_clients(context->ssl, authorities, authorities_count);
        int required = clients == COPENSSL_CLIENTS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
        SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER | required, NULL);
    }
    return end(context, found, fault, reason);
}

copenssl_context *copenssl_client_context_make(const char *authorities, const char *more, const char *directory,
                                               const char *bundle, copenssl_fault *fault, const char **reason) {
    copenssl_context *context = begin(TLS_client_method(), set_client_rules);
    if (context == NULL) return end(NULL, COPENSSL_NO_MEMORY, fault, reason);
    if (authorities == NULL) copenssl_trust_places(context, directory, bundle);
    int are_readable = (authorities == NULL || SSL_CTX_load_verify_file(context->ssl, authorities) == 1) &&
                       (more == NULL || SSL_CTX_load_verify_file(context->ssl, more) == 1);
    return end(context, are_readable ? COPENSSL_SOUND : COPENSSL_AUTHORITIES_UNREADABLE, fault, reason);
}

copenssl_context *copenssl_presenting_context_make(copenssl_context *base, const uint8_t *chain, size_t chain_count,
                                                   const uint8_t *key, size_t key_count, copenssl_fault *fault,
                                                   const char **reason) {
    copenssl_context *context = begin(TLS_client_method(), set_client_rules);
    if (context == NULL) return end(NULL, COPENSSL_NO_MEMORY, fault, reason);
    if (base != NULL) SSL_CTX_set1_cert_store(context->ssl, SSL_CTX_get_cert_store(base->ssl));
    if (base != NULL && base->places != NULL) copenssl_read_later(context, base->places);
    // Only what the file has is sent. OpenSSL would look for missing intermediates among the trusted authorities.
    SSL_CTX_set_mode(context->ssl, SSL_MODE_NO_AUTO_CHAIN);
    return end(context, present(context, chain, chain_count, key, key_count), fault, reason);
}

void copenssl_context_free(copenssl_context *context) {
    if (context == NULL) return;
    SSL_CTX_free(context->ssl);
    pthread_mutex_destroy(&context->reading);
    free(context->bundle);
    free(context);
}

int64_t copenssl_context_not_before(const copenssl_context *context) { return context->not_before; }

int64_t copenssl_context_not_after(const copenssl_context *context) { return context->not_after; }
