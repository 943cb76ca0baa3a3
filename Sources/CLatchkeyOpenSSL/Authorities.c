// The authorities that a client trusts.
#include "Private.h"

#include <dirent.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// The system's bundle, whatever the environment says; null if there is none.
static const char *system_bundle(void) {
    const char *file = X509_get_default_cert_file();
    if (access(file, R_OK) == 0) return file;
    for (size_t index = 0; index < sizeof bundles / sizeof *bundles; index++) {
        if (access(bundles[index], R_OK) == 0) return bundles[index];
    }
    return NULL;
}

// Authorities of a directory are read when one is needed. Without any authority each handshake fails, and says why.
void copenssl_trust_places(SSL_CTX *ssl, const char *directory, const char *bundle) {
    if (directory == NULL) {
        directory = X509_get_default_cert_dir();
        bundle = system_bundle();
    }
    int has_directory = access(directory, R_OK | X_OK) == 0 && SSL_CTX_load_verify_dir(ssl, directory) == 1;
    if (bundle != NULL && access(bundle, R_OK) == 0) {
        int is_for_later =
            has_directory && has_hashed_names(directory) && read_later(SSL_CTX_get_cert_store(ssl), bundle);
        if (!is_for_later) SSL_CTX_load_verify_file(ssl, bundle);
    }
    ERR_clear_error();
}
