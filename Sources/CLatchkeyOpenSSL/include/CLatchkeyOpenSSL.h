// TLS with OpenSSL: contexts of servers and clients, and sessions on non-blocking sockets; and SHA-256. It hides
// OpenSSL's headers, which are largely macros.
#ifndef LATCHKEY_COPENSSL_H
#define LATCHKEY_COPENSSL_H

#include <stddef.h>
#include <stdint.h>

/// Why a context cannot be made.
typedef enum copenssl_fault {
    COPENSSL_SOUND = 0,
    COPENSSL_NO_MEMORY,
    COPENSSL_CERTIFICATE_UNREADABLE,
    /// For example its key is too short.
    COPENSSL_CERTIFICATE_REFUSED,
    COPENSSL_KEY_UNREADABLE,
    /// It needs a passphrase.
    COPENSSL_KEY_ENCRYPTED,
    COPENSSL_KEY_MISMATCH,
    COPENSSL_AUTHORITIES_UNREADABLE,
} copenssl_fault;

/// Whether the server requests client certificates.
typedef enum copenssl_clients {
    COPENSSL_CLIENTS_UNASKED = 0,
    COPENSSL_CLIENTS_ASKED,
    COPENSSL_CLIENTS_REQUIRED,
} copenssl_clients;

/// The status of an operation on a session.
typedef enum copenssl_outcome {
    COPENSSL_DONE = 0,
    /// Wait for the socket.
    COPENSSL_AGAIN,
    /// The peer has ended its side.
    COPENSSL_ENDED,
    COPENSSL_FAILED,
    /// Of a client's handshake: call `copenssl_read_authorities`, then go on.
    COPENSSL_NEEDS_AUTHORITIES,
} copenssl_outcome;

/// The context of sessions; for any thread.
typedef struct copenssl_context copenssl_context;

/// The session of a connection; for one thread at a time.
typedef struct copenssl_session copenssl_session;

/// Makes a context for TLS 1.2 and 1.3 with ALPN http/1.1.
/// - authorities: PEM certificates that client certificates must chain to; null if clients are not asked.
/// Returns null and the fault on failure; `reason` is then OpenSSL's text, or null.
copenssl_context *copenssl_context_make(const uint8_t *chain, size_t chain_count, const uint8_t *key, size_t key_count,
                                        const uint8_t *authorities, size_t authorities_count, copenssl_clients clients,
                                        copenssl_fault *fault, const char **reason);
void copenssl_context_free(copenssl_context *context);

/// The validity period of the context's own certificate, in seconds since 1970.
int64_t copenssl_context_not_before(const copenssl_context *context);
int64_t copenssl_context_not_after(const copenssl_context *context);

/// Begins a session on a non-blocking socket, which the caller keeps, as it keeps the context. Null without memory.
copenssl_session *copenssl_session_make(copenssl_context *context, int descriptor);
void copenssl_session_free(copenssl_session *session);

/// Makes a context for clients: TLS 1.2 and 1.3 with ALPN http/1.1, and servers' certificates are verified.
/// - authorities: the path of a PEM file with the only authorities to trust; null for the system's.
/// - more: the path of a PEM file with more authorities to trust; null for none.
/// - directory, bundle: where the system has its authorities; null for OpenSSL's own places.
/// Returns null and the fault on failure; `reason` is then OpenSSL's text, or null.
copenssl_context *copenssl_client_context_make(const char *authorities, const char *more, const char *directory,
                                               const char *bundle, copenssl_fault *fault, const char **reason);

/// Makes a context for clients that present a certificate (RFC 8705). It trusts what another one for clients trusts.
/// - base: That context, which must live as long; null if the new one is not for connections.
/// - chain, key: PEM. The client's certificate first, then its intermediates; the key without a passphrase.
/// Returns null and the fault on failure; `reason` is then OpenSSL's text, or null.
copenssl_context *copenssl_presenting_context_make(copenssl_context *base, const uint8_t *chain, size_t chain_count,
                                                   const uint8_t *key, size_t key_count, copenssl_fault *fault,
                                                   const char **reason);

/// Reads the authorities that a handshake lacks. It blocks; for any thread.
void copenssl_read_authorities(copenssl_context *context);

/// Gets the subject of the context's own certificate (RFC 2253), NUL-terminated. Returns 0 if there is none.
int copenssl_context_subject(const copenssl_context *context, char *subject, size_t room);

/// Whether the context's own certificate names itself as its issuer.
int copenssl_context_is_self_issued(const copenssl_context *context);

/// Begins a client's session on a connected non-blocking socket, which the caller keeps. The server's certificate must
/// be valid for `host`: a DNS name, which is also sent (RFC 6066 section 3), or the text of an IP address. Null without
/// memory.
copenssl_session *copenssl_client_session_make(copenssl_context *context, int descriptor, const char *host,
                                               int is_address);

/// What is wrong with the server's certificate; null if that is not why the handshake failed.
const char *copenssl_certificate_fault(const copenssl_session *session);

/// When the server's certificate expires, in seconds since 1970; 0 if unknown.
int64_t copenssl_server_not_after(const copenssl_session *session);

/// The socket is ready. Avoids system calls before that.
/// - ends: whether the peer has ended its side, so that the end can be read after all bytes.
void copenssl_ready(copenssl_session *session, int ends);

copenssl_outcome copenssl_handshake(copenssl_session *session);
copenssl_outcome copenssl_read(copenssl_session *session, void *buffer, size_t room, size_t *count);
/// Sends as much as the socket takes. The next call must continue at the first byte not taken.
copenssl_outcome copenssl_write(copenssl_session *session, const void *bytes, size_t count, size_t *written);
/// Sends close_notify.
copenssl_outcome copenssl_end(copenssl_session *session);

/// Whether the handshake failed because the client sent plain HTTP.
int copenssl_saw_plain_http(const copenssl_session *session);
/// OpenSSL's text for the failure; null if there is none.
const char *copenssl_reason(const copenssl_session *session);

/// Gets the client's trusted certificate: its subject (RFC 2253), NUL-terminated, and its SHA-256. Returns 0 if there
/// is no certificate.
int copenssl_client_certificate(const copenssl_session *session, char *subject, size_t room, uint8_t digest[32]);

#endif
