// TLS sessions: one connection each.
#include "Private.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

// The socket's BIO. OpenSSL's own would raise SIGPIPE, and would read the empty socket once more after each record.

static int socket_read(BIO *bio, char *buffer, int room) {
    copenssl_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (room <= 0) return 0;
    // No more input from a client that floods the server.
    if (session->is_broken) return -1;
    if (session->is_drained) {
        BIO_set_retry_read(bio);
        return -1;
    }
    ssize_t count;
    do { count = recv(session->descriptor, buffer, (size_t)room, 0); } while (count < 0 && errno == EINTR);
    if (count > 0) {
        session->is_drained = count < room && !session->ends;
    } else if (count == 0) {
        session->has_ended = 1;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        session->is_drained = 1;
        BIO_set_retry_read(bio);
    }
    return (int)count;
}

static int socket_write(BIO *bio, const char *bytes, int count) {
    copenssl_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count <= 0) return 0;
    ssize_t sent;
    do { sent = send(session->descriptor, bytes, (size_t)count, MSG_NOSIGNAL); } while (sent < 0 && errno == EINTR);
    if (sent >= 0) return (int)sent;
    // OpenSSL is told to try again later: after a failure it would read nothing, although an early response may be in
    // the socket.
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
        session->cannot_send = 1;
        session->is_drained = 0;
        session->ends = 1;
    }
    BIO_set_retry_write(bio);
    return -1;
}

static long socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    copenssl_session *session = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return session != NULL && session->has_ended;
    default: return 0;
    }
}

static int socket_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *socket_method;
static pthread_once_t socket_method_once = PTHREAD_ONCE_INIT;

static void make_socket_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "latchkey socket");
    if (method == NULL) return;
    BIO_meth_set_create(method, socket_create);
    BIO_meth_set_read(method, socket_read);
    BIO_meth_set_write(method, socket_write);
    BIO_meth_set_ctrl(method, socket_control);
    socket_method = method;
}

// More handshake messages in a row than any honest client sends after the handshake. Each KeyUpdate (RFC 8446 section
// 4.6.3) costs new keys, and each renegotiation request a response.
static const unsigned int maximum_messages_in_a_row = 32;

static void count_message(int sent, int version, int type, const void *message, size_t count, SSL *ssl,
                          void *argument) {
    (void)version;
    (void)message;
    (void)count;
    (void)ssl;
    copenssl_session *session = argument;
    if (sent || type != SSL3_RT_HANDSHAKE || !session->is_established) return;
    session->messages_in_a_row += 1;
    if (session->messages_in_a_row > maximum_messages_in_a_row) {
        session->is_broken = 1;
        session->reason = "too many messages after the handshake";
    }
}

static copenssl_session *make_session(copenssl_context *context, int descriptor) {
    pthread_once(&socket_method_once, make_socket_method);
    copenssl_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->descriptor = descriptor;
    session->ssl = SSL_new(context->ssl);
    BIO *bio = session->ssl != NULL && socket_method != NULL ? BIO_new(socket_method) : NULL;
    if (bio == NULL) {
        SSL_free(session->ssl);
        free(session);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(bio, session);
    SSL_set_app_data(session->ssl, session);
    SSL_set_bio(session->ssl, bio, bio);
    SSL_set_msg_callback(session->ssl, count_message);
    SSL_set_msg_callback_arg(session->ssl, session);
    return session;
}

copenssl_session *copenssl_session_make(copenssl_context *context, int descriptor) {
    copenssl_session *session = make_session(context, descriptor);
    if (session != NULL) SSL_set_accept_state(session->ssl);
    return session;
}

copenssl_session *copenssl_client_session_make(copenssl_context *context, int descriptor, const char *host,
                                               int is_address) {
    copenssl_session *session = make_session(context, descriptor);
    if (session == NULL) return NULL;
    SSL_set_connect_state(session->ssl);
    ERR_clear_error();
    int is_set;
    if (is_address) {
        is_set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session->ssl), host) == 1;
    } else {
        // A name counts only in subjectAltName (RFC 9525 section 6.3).
        SSL_set_hostflags(session->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        is_set = SSL_set1_host(session->ssl, host) == 1 && SSL_set_tlsext_host_name(session->ssl, host) == 1;
    }
    ERR_clear_error();
    if (is_set) return session;
    copenssl_session_free(session);
    return NULL;
}

const char *copenssl_certificate_fault(const copenssl_session *session) {
    long result = SSL_get_verify_result(session->ssl);
    return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

int64_t copenssl_server_not_after(const copenssl_session *session) {
    X509 *certificate = SSL_get0_peer_certificate(session->ssl);
    return certificate != NULL ? copenssl_seconds(X509_get0_notAfter(certificate)) : 0;
}

void copenssl_session_free(copenssl_session *session) {
    if (session == NULL) return;
    SSL_free(session->ssl);
    free(session);
}

void copenssl_ready(copenssl_session *session, int ends) {
    session->is_drained = 0;
    if (ends) session->ends = 1;
}

// The status of a failed call.
static copenssl_outcome outcome(copenssl_session *session, int result) {
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ: return COPENSSL_AGAIN;
    case SSL_ERROR_WANT_WRITE: return session->cannot_send ? COPENSSL_FAILED : COPENSSL_AGAIN;
    case SSL_ERROR_ZERO_RETURN: return COPENSSL_ENDED;
    case SSL_ERROR_WANT_RETRY_VERIFY: return COPENSSL_NEEDS_AUTHORITIES;
    default: break;
    }
    unsigned long error = ERR_peek_error();
    session->reason = ERR_reason_error_string(error);
    session->is_broken = 1;
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        int reason = ERR_GET_REASON(error);
        session->saw_plain_http = reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST;
    }
    ERR_clear_error();
    return COPENSSL_FAILED;
}

copenssl_outcome copenssl_handshake(copenssl_session *session) {
    ERR_clear_error();
    int result = SSL_do_handshake(session->ssl);
    if (result == 1) {
        session->is_established = 1;
        return COPENSSL_DONE;
    }
    return outcome(session, result);
}

copenssl_outcome copenssl_read(copenssl_session *session, void *buffer, size_t room, size_t *count) {
    if (session->is_broken) return COPENSSL_FAILED;
    ERR_clear_error();
    int result = SSL_read_ex(session->ssl, buffer, room, count);
    if (session->is_broken) {
        ERR_clear_error();
        return COPENSSL_FAILED;
    }
    if (result != 1) return outcome(session, result);
    session->messages_in_a_row = 0;
    return COPENSSL_DONE;
}

copenssl_outcome copenssl_write(copenssl_session *session, const void *bytes, size_t count, size_t *written) {
    *written = 0;
    if (session->is_broken || session->cannot_send) return COPENSSL_FAILED;
    while (*written < count) {
        size_t some = 0;
        ERR_clear_error();
        int result = SSL_write_ex(session->ssl, (const char *)bytes + *written, count - *written, &some);
        if (result != 1) {
            copenssl_outcome failure = outcome(session, result);
            return failure == COPENSSL_AGAIN && *written > 0 ? COPENSSL_DONE : failure;
        }
        *written += some;
    }
    return COPENSSL_DONE;
}

copenssl_outcome copenssl_end(copenssl_session *session) {
    if (session->is_broken || session->cannot_send || !session->is_established) return COPENSSL_FAILED;
    ERR_clear_error();
    int result = SSL_shutdown(session->ssl);
    if (result >= 0) return COPENSSL_DONE;
    return outcome(session, result);
}

int copenssl_saw_plain_http(const copenssl_session *session) { return session->saw_plain_http; }

const char *copenssl_reason(const copenssl_session *session) { return session->reason; }

int copenssl_client_certificate(const copenssl_session *session, char *subject, size_t room, uint8_t digest[32]) {
    X509 *certificate = SSL_get1_peer_certificate(session->ssl);
    if (certificate == NULL) return 0;
    unsigned int length = 32;
    int found = SSL_get_verify_result(session->ssl) == X509_V_OK &&
                X509_digest(certificate, EVP_sha256(), digest, &length) == 1 &&
                copenssl_write_subject(certificate, subject, room);
    X509_free(certificate);
    ERR_clear_error();
    return found;
}
