// The server's side of TLS, over OpenSSL: contexts made of PEM texts, and sessions on non-blocking sockets. OpenSSL's own
// headers, which are macros for a good part, stay out of sight.
#ifndef LATCHKEY_COPENSSL_H
#define LATCHKEY_COPENSSL_H

#include <stddef.h>
#include <stdint.h>

/// Why a context cannot be made.
typedef enum copenssl_fault {
    COPENSSL_SOUND = 0,
    COPENSSL_NO_MEMORY,
    COPENSSL_CERTIFICATE_UNREADABLE,
    /// Such as one with a key that is too short.
    COPENSSL_CERTIFICATE_REFUSED,
    COPENSSL_KEY_UNREADABLE,
    /// It needs a passphrase.
    COPENSSL_KEY_ENCRYPTED,
    COPENSSL_KEY_MISMATCH,
    COPENSSL_AUTHORITIES_UNREADABLE,
} copenssl_fault;

/// Whether clients are asked for certificates.
typedef enum copenssl_clients {
    COPENSSL_CLIENTS_UNASKED = 0,
    COPENSSL_CLIENTS_ASKED,
    COPENSSL_CLIENTS_REQUIRED,
} copenssl_clients;

/// What an operation on a session came to.
typedef enum copenssl_outcome {
    COPENSSL_DONE = 0,
    /// Nothing more until the socket has news.
    COPENSSL_AGAIN,
    /// The other side sends no more.
    COPENSSL_ENDED,
    COPENSSL_FAILED,
} copenssl_outcome;

/// What sessions begin with; may be used by any thread.
typedef struct copenssl_context copenssl_context;

/// One connection's; used by one thread at a time.
typedef struct copenssl_session copenssl_session;

/// Makes a context for TLS 1.2 and 1.3 with ALPN http/1.1.
/// - authorities: PEM certificates that clients' have to lead to; may be null where clients are not asked.
/// Returns null and the fault where that cannot be; `reason` is then OpenSSL's own word on it, or null.
copenssl_context *copenssl_context_make(const uint8_t *chain, size_t chain_count, const uint8_t *key, size_t key_count,
                                        const uint8_t *authorities, size_t authorities_count, copenssl_clients clients,
                                        copenssl_fault *fault, const char **reason);
void copenssl_context_free(copenssl_context *context);

/// When the server's certificate begins and ends to hold, in seconds since 1970.
int64_t copenssl_context_not_before(const copenssl_context *context);
int64_t copenssl_context_not_after(const copenssl_context *context);

/// Begins a session on a non-blocking socket, which stays the caller's. Null without memory.
copenssl_session *copenssl_session_make(copenssl_context *context, int descriptor);
void copenssl_session_free(copenssl_session *session);

/// The socket has news. Until then no call on it is made that is known to find nothing.
/// - ends: whether the other side has ended, so that the end is there to be read after all bytes.
void copenssl_ready(copenssl_session *session, int ends);

copenssl_outcome copenssl_handshake(copenssl_session *session);
copenssl_outcome copenssl_read(copenssl_session *session, void *buffer, size_t room, size_t *count);
/// Sends as much as the socket takes. What was not taken has to be sent again next, from the same byte on.
copenssl_outcome copenssl_write(copenssl_session *session, const void *bytes, size_t count, size_t *written);
/// Tells the other side that no more will be sent.
copenssl_outcome copenssl_end(copenssl_session *session);

/// Whether the handshake failed because what came was a request in plain HTTP.
int copenssl_saw_plain_http(const copenssl_session *session);
/// OpenSSL's word on what failed; null if it has none.
const char *copenssl_reason(const copenssl_session *session);

/// The certificate that the client has shown and that was found good: its subject (RFC 2253), NUL-terminated, and its
/// SHA-256. Returns 0 if there is none.
int copenssl_client_certificate(const copenssl_session *session, char *subject, size_t room, uint8_t digest[32]);

#endif
