// The authorities that a client trusts.
#include "Private.h"

#include <dirent.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The bundles of systems whose OpenSSL has neither file nor directory of its own.
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// Has the handshake wait when a certificate cannot be verified before the bundle for later was read: reading takes 50 ms
// and more, in which the thread could serve others. It waits once only, also if the bundle cannot be read.
static int verify(X509_STORE_CTX *chain, void *argument) {
    copenssl_context *places = argument;
    int result = X509_verify_cert(chain);
    SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
    copenssl_session *session = SSL_get_app_data(ssl);
    if (result > 0 || atomic_load(&places->is_read) || session->has_waited) return result;
    session->has_waited = 1;
    SSL_set_retry_verify(ssl);
    return 1;
}

void copenssl_read_later(copenssl_context *context, copenssl_context *places) {
    context->places = places;
    SSL_CTX_set_cert_verify_callback(context->ssl, verify, places);
}

// A file that cannot be opened, as without a free descriptor, is tried again when the next authority is needed.
void copenssl_read_authorities(copenssl_context *context) {
    copenssl_context *places = context->places;
    if (places == NULL) return;
    pthread_mutex_lock(&places->reading);
    if (!atomic_load(&places->is_read)) {
        atomic_store(&places->is_read, SSL_CTX_load_verify_file(places->ssl, places->bundle) == 1);
    }
    pthread_mutex_unlock(&places->reading);
    ERR_clear_error();
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

// The system's bundle, whatever the environment says; null if there is none.
static const char *system_bundle(void) {
    const char *file = X509_get_default_cert_file();
    if (access(file, R_OK) == 0) return file;
    for (size_t index = 0; index < sizeof bundles / sizeof *bundles; index++) {
        if (access(bundles[index], R_OK) == 0) return bundles[index];
    }
    return NULL;
}

// Authorities of a directory are read when one is needed. Without any authority each handshake fails, and says why. A
// bundle beside such a directory is read once an authority is needed that the directory does not have: its certificates
// keep 1 MB in memory, and mostly the directory has the few that are needed.
void copenssl_trust_places(copenssl_context *context, const char *directory, const char *bundle) {
    if (directory == NULL) {
        directory = X509_get_default_cert_dir();
        bundle = system_bundle();
    }
    int has_directory =
        access(directory, R_OK | X_OK) == 0 && SSL_CTX_load_verify_dir(context->ssl, directory) == 1;
    if (bundle != NULL && access(bundle, R_OK) == 0) {
        context->bundle = has_directory && has_hashed_names(directory) ? strdup(bundle) : NULL;
        if (context->bundle != NULL) {
            copenssl_read_later(context, context);
        } else {
            SSL_CTX_load_verify_file(context->ssl, bundle);
        }
    }
    ERR_clear_error();
}
