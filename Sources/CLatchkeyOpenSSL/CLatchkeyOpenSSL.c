#define _GNU_SOURCE
#include "CLatchkeyOpenSSL.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// OpenSSL frees everything it has when a process exits, also what other threads are using or freeing at that moment: a
// command that ends while a loop closes its connections would crash. The system takes the memory back anyway. Before
// main, because only the first initialization decides, and libpq may be the first to use OpenSSL.
__attribute__((constructor)) static void leave_memory_at_exit(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "OpenSSL 3.0 or later is needed"
#endif

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

struct copenssl_context {
    SSL_CTX *ssl;
    int64_t not_before;
    int64_t not_after;
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
    // Handshake messages since the end of the handshake, or since the last data.
    unsigned int messages_in_a_row;
};

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

// Contexts

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

// Without it OpenSSL would ask for a passphrase at the terminal.
static int refuse_passphrase(char *buffer, int room, int writing, void *asked) {
    (void)buffer;
    (void)room;
    (void)writing;
    *(int *)asked = 1;
    return -1;
}

static int64_t seconds(const ASN1_TIME *time) {
    struct tm parts;
    memset(&parts, 0, sizeof parts);
    return time != NULL && ASN1_TIME_to_tm(time, &parts) ? (int64_t)timegm(&parts) : 0;
}

static BIO *reader(const uint8_t *bytes, size_t count) {
    return count > INT_MAX ? NULL : BIO_new_mem_buf(bytes, (int)count);
}

// Whether reading ended at the end of the text, not at a damaged certificate.
static int is_at_end(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static copenssl_fault use_chain(copenssl_context *context, const uint8_t *bytes, size_t count) {
    BIO *text = reader(bytes, count);
    if (text == NULL) return COPENSSL_NO_MEMORY;
    copenssl_fault fault = COPENSSL_SOUND;
    X509 *certificate = PEM_read_bio_X509(text, NULL, NULL, NULL);
    if (certificate == NULL) {
        fault = COPENSSL_CERTIFICATE_UNREADABLE;
    } else {
        context->not_before = seconds(X509_get0_notBefore(certificate));
        context->not_after = seconds(X509_get0_notAfter(certificate));
        if (SSL_CTX_use_certificate(context->ssl, certificate) != 1) fault = COPENSSL_CERTIFICATE_REFUSED;
        X509_free(certificate);
    }
    while (fault == COPENSSL_SOUND && (certificate = PEM_read_bio_X509(text, NULL, NULL, NULL)) != NULL) {
        if (SSL_CTX_add0_chain_cert(context->ssl, certificate) != 1) {
            X509_free(certificate);
            fault = COPENSSL_CERTIFICATE_REFUSED;
        }
    }
    if (fault == COPENSSL_SOUND && !is_at_end()) fault = COPENSSL_CERTIFICATE_UNREADABLE;
    BIO_free(text);
    return fault;
}

static copenssl_fault use_key(SSL_CTX *ssl, const uint8_t *bytes, size_t count) {
    BIO *text = reader(bytes, count);
    if (text == NULL) return COPENSSL_NO_MEMORY;
    int asked = 0;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, refuse_passphrase, &asked);
    BIO_free(text);
    if (key == NULL) return asked ? COPENSSL_KEY_ENCRYPTED : COPENSSL_KEY_UNREADABLE;
    int fits = SSL_CTX_use_PrivateKey(ssl, key) == 1 && SSL_CTX_check_private_key(ssl) == 1;
    EVP_PKEY_free(key);
    return fits ? COPENSSL_SOUND : COPENSSL_KEY_MISMATCH;
}

static copenssl_fault trust(SSL_CTX *ssl, const uint8_t *bytes, size_t count) {
    BIO *text = reader(bytes, count);
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    copenssl_fault fault = text == NULL || names == NULL ? COPENSSL_NO_MEMORY : COPENSSL_SOUND;
    X509 *certificate;
    while (fault == COPENSSL_SOUND && (certificate = PEM_read_bio_X509(text, NULL, NULL, NULL)) != NULL) {
        X509_NAME *name = X509_NAME_dup(X509_get_subject_name(certificate));
        if (name == NULL || sk_X509_NAME_push(names, name) == 0) {
            X509_NAME_free(name);
            fault = COPENSSL_NO_MEMORY;
        } else if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), certificate) != 1) {
            fault = COPENSSL_AUTHORITIES_UNREADABLE;
        }
        X509_free(certificate);
    }
    if (fault == COPENSSL_SOUND && (!is_at_end() || sk_X509_NAME_num(names) == 0)) {
        fault = COPENSSL_AUTHORITIES_UNREADABLE;
    }
    if (fault == COPENSSL_SOUND) {
        // Sent to clients, so that they can choose a certificate.
        SSL_CTX_set_client_CA_list(ssl, names);
        names = NULL;
    }
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    BIO_free(text);
    return fault;
}

// TLS 1.2 with forward secrecy and authenticated encryption only; all ciphers of TLS 1.3 have both.
static const char ciphers[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                              "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                              "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

static int set_rules(SSL_CTX *ssl) {
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

copenssl_context *copenssl_context_make(const uint8_t *chain, size_t chain_count, const uint8_t *key, size_t key_count,
                                        const uint8_t *authorities, size_t authorities_count, copenssl_clients clients,
                                        copenssl_fault *fault, const char **reason) {
    *fault = COPENSSL_NO_MEMORY;
    *reason = NULL;
    copenssl_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    ERR_clear_error();
    context->ssl = SSL_CTX_new(TLS_server_method());
    if (context->ssl != NULL && set_rules(context->ssl)) {
        *fault = use_chain(context, chain, chain_count);
        ERR_clear_error();
        if (*fault == COPENSSL_SOUND) *fault = use_key(context->ssl, key, key_count);
        if (*fault == COPENSSL_SOUND && clients != COPENSSL_CLIENTS_UNASKED) {
            ERR_clear_error();
            *fault = trust(context->ssl, authorities, authorities_count);
            int required = clients == COPENSSL_CLIENTS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
            SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER | required, NULL);
        }
    }
    if (*fault == COPENSSL_SOUND) {
        ERR_clear_error();
        return context;
    }
    *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    copenssl_context_free(context);
    return NULL;
}

void copenssl_context_free(copenssl_context *context) {
    if (context == NULL) return;
    SSL_CTX_free(context->ssl);
    free(context);
}

int64_t copenssl_context_not_before(const copenssl_context *context) { return context->not_before; }

int64_t copenssl_context_not_after(const copenssl_context *context) { return context->not_after; }

// Contexts of clients

// The bundles of systems whose OpenSSL has neither file nor directory of its own.
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// A bundle that is read when an authority is needed that the directory does not have. Reading one takes 50 ms and more,
// and its certificates keep 1 MB in memory; mostly the directory has the few that are needed. Of two authorities with
// the same subject, the directory's counts.
struct later_bundle {
    pthread_mutex_t lock;
    char *file;
    int is_read;
};

// A file that cannot be opened, as without a free descriptor, is tried again when the next authority is needed.
static void read_bundle(struct later_bundle *bundle, X509_STORE *store) {
    BIO *text = BIO_new_file(bundle->file, "r");
    if (text == NULL) return;
    bundle->is_read = 1;
    for (X509 *authority; (authority = PEM_read_bio_X509_AUX(text, NULL, NULL, "")) != NULL; X509_free(authority)) {
        X509_STORE_add_cert(store, authority);
    }
    BIO_free(text);
}

static int find_in_later_bundle(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
                                X509_OBJECT *found) {
    struct later_bundle *bundle = X509_LOOKUP_get_method_data(lookup);
    if (bundle == NULL || type != X509_LU_X509) return 0;
    X509_STORE *store = X509_LOOKUP_get_store(lookup);
    pthread_mutex_lock(&bundle->lock);
    ERR_set_mark();
    if (!bundle->is_read) read_bundle(bundle, store);
    ERR_pop_to_mark();
    pthread_mutex_unlock(&bundle->lock);
    X509_STORE_lock(store);
    X509_OBJECT *held = X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), type, name);
    X509 *certificate = X509_OBJECT_get0_X509(held);
    int is_found = certificate != NULL && X509_OBJECT_set1_X509(found, certificate) == 1;
    // The store keeps it. What a lookup finds is not counted: the caller counts its own use.
    if (is_found) X509_free(certificate);
    X509_STORE_unlock(store);
    return is_found;
}

static void free_later_bundle(X509_LOOKUP *lookup) {
    struct later_bundle *bundle = X509_LOOKUP_get_method_data(lookup);
    if (bundle == NULL) return;
    pthread_mutex_destroy(&bundle->lock);
    free(bundle->file);
    free(bundle);
}

static X509_LOOKUP_METHOD *later_bundle_method;
static pthread_once_t later_bundle_method_once = PTHREAD_ONCE_INIT;

static void make_later_bundle_method(void) {
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("a bundle that is read when it is needed");
    if (method == NULL) return;
    X509_LOOKUP_meth_set_free(method, free_later_bundle);
    X509_LOOKUP_meth_set_get_by_subject(method, find_in_later_bundle);
    later_bundle_method = method;
}

// Returns 0 without memory.
static int read_later(X509_STORE *store, const char *file) {
    pthread_once(&later_bundle_method_once, make_later_bundle_method);
    if (later_bundle_method == NULL) return 0;
    struct later_bundle *bundle = calloc(1, sizeof *bundle);
    if (bundle == NULL) return 0;
    bundle->file = strdup(file);
    X509_LOOKUP *lookup = bundle->file != NULL ? X509_STORE_add_lookup(store, later_bundle_method) : NULL;
    if (lookup == NULL) {
        free(bundle->file);
        free(bundle);
        return 0;
    }
    pthread_mutex_init(&bundle->lock, NULL);
    X509_LOOKUP_set_method_data(lookup, bundle);
    return 1;
}

// Whether a directory has a certificate under the hash of its subject, such as 5ed36f99.0.
static int has_hashed_names(const char *directory) {
    DIR *entries = opendir(directory);
    if (entries == NULL) return 0;
    int found = 0;
    for (struct dirent *entry; !found && (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        found = strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] >= '0' && name[9] <= '9';
    }
    closedir(entries);
    return found;
}

// Authorities of a directory are read when one is needed. Without any authority each handshake fails, and says why.
static void trust_places(SSL_CTX *ssl, const char *directory, const char *bundle) {
    int has_directory = access(directory, R_OK | X_OK) == 0 && SSL_CTX_load_verify_dir(ssl, directory) == 1;
    if (bundle != NULL && access(bundle, R_OK) == 0) {
        int is_for_later =
            has_directory && has_hashed_names(directory) && read_later(SSL_CTX_get_cert_store(ssl), bundle);
        if (!is_for_later) SSL_CTX_load_verify_file(ssl, bundle);
    }
    ERR_clear_error();
}

// The system's bundle, whatever the environment says; null if there is none.
static const char *system_bundle(void) {
    const char *file = X509_get_default_cert_file();
    if (access(file, R_OK) == 0) return file;
    for (size_t index = 0; index < sizeof bundles / sizeof *bundles; index++) {
        if (access(bundles[index], R_OK) == 0) return bundles[index];
    }
    return NULL;
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

copenssl_context *copenssl_client_context_make(const char *authorities, const char *more, const char *directory,
                                               const char *bundle, copenssl_fault *fault, const char **reason) {
    *fault = COPENSSL_NO_MEMORY;
    *reason = NULL;
    copenssl_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    ERR_clear_error();
    context->ssl = SSL_CTX_new(TLS_client_method());
    if (context->ssl != NULL && set_client_rules(context->ssl)) {
        ERR_clear_error();
        *fault = COPENSSL_SOUND;
        if (authorities == NULL) {
            trust_places(context->ssl, directory != NULL ? directory : X509_get_default_cert_dir(),
                         directory != NULL ? bundle : system_bundle());
        } else if (SSL_CTX_load_verify_file(context->ssl, authorities) != 1) {
            *fault = COPENSSL_AUTHORITIES_UNREADABLE;
        }
        if (*fault == COPENSSL_SOUND && more != NULL && SSL_CTX_load_verify_file(context->ssl, more) != 1) {
            *fault = COPENSSL_AUTHORITIES_UNREADABLE;
        }
    }
    if (*fault == COPENSSL_SOUND) {
        ERR_clear_error();
        return context;
    }
    *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    copenssl_context_free(context);
    return NULL;
}

copenssl_context *copenssl_presenting_context_make(copenssl_context *base, const uint8_t *chain, size_t chain_count,
                                                   const uint8_t *key, size_t key_count, copenssl_fault *fault,
                                                   const char **reason) {
    *fault = COPENSSL_NO_MEMORY;
    *reason = NULL;
    copenssl_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    ERR_clear_error();
    context->ssl = SSL_CTX_new(TLS_client_method());
    if (context->ssl != NULL && set_client_rules(context->ssl)) {
        if (base != NULL) SSL_CTX_set1_cert_store(context->ssl, SSL_CTX_get_cert_store(base->ssl));
        // Only what the file has is sent. OpenSSL would look for missing intermediates among the trusted authorities.
        SSL_CTX_set_mode(context->ssl, SSL_MODE_NO_AUTO_CHAIN);
        ERR_clear_error();
        *fault = use_chain(context, chain, chain_count);
        ERR_clear_error();
        if (*fault == COPENSSL_SOUND) *fault = use_key(context->ssl, key, key_count);
    }
    if (*fault == COPENSSL_SOUND) {
        ERR_clear_error();
        return context;
    }
    *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    copenssl_context_free(context);
    return NULL;
}

static int write_subject(const X509 *certificate, char *subject, size_t room) {
    BIO *text = BIO_new(BIO_s_mem());
    int found = 0;
    if (text != NULL && room > 0 &&
        X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253) >= 0) {
        int count = BIO_read(text, subject, (int)(room > INT_MAX ? INT_MAX : room) - 1);
        subject[count > 0 ? count : 0] = '\0';
        found = 1;
    }
    BIO_free(text);
    return found;
}

int copenssl_context_subject(const copenssl_context *context, char *subject, size_t room) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    int found = certificate != NULL && write_subject(certificate, subject, room);
    ERR_clear_error();
    return found;
}

int copenssl_context_is_self_issued(const copenssl_context *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    return certificate != NULL &&
           X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
}

// Sessions

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
    return certificate != NULL ? seconds(X509_get0_notAfter(certificate)) : 0;
}

void copenssl_session_free(copenssl_session *session) {
    if (session == NULL) return;
    SSL_free(session->ssl);
    free(session);
}

void copenssl_ready(copenssl_session *session, int ends) {
    session->is_drained = 0;
    session->ends = ends != 0;
}

// The status of a failed call.
static copenssl_outcome outcome(copenssl_session *session, int result) {
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ: return COPENSSL_AGAIN;
    case SSL_ERROR_WANT_WRITE: return session->cannot_send ? COPENSSL_FAILED : COPENSSL_AGAIN;
    case SSL_ERROR_ZERO_RETURN: return COPENSSL_ENDED;
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
                write_subject(certificate, subject, room);
    X509_free(certificate);
    ERR_clear_error();
    return found;
}
