// Certificates and keys in PEM.
#include "Private.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <time.h>

// Without it OpenSSL would ask for a passphrase at the terminal.
static int refuse_passphrase(char *buffer, int room, int writing, void *asked) {
    (void)buffer;
    (void)room;
    (void)writing;
    *(int *)asked = 1;
    return -1;
}

int64_t copenssl_seconds(const ASN1_TIME *time) {
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

copenssl_fault copenssl_use_chain(copenssl_context *context, const uint8_t *bytes, size_t count) {
    BIO *text = reader(bytes, count);
    if (text == NULL) return COPENSSL_NO_MEMORY;
    copenssl_fault fault = COPENSSL_SOUND;
    X509 *certificate = PEM_read_bio_X509(text, NULL, NULL, NULL);
    if (certificate == NULL) {
        fault = COPENSSL_CERTIFICATE_UNREADABLE;
    } else {
        context->not_before = copenssl_seconds(X509_get0_notBefore(certificate));
        context->not_after = copenssl_seconds(X509_get0_notAfter(certificate));
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

copenssl_fault copenssl_use_key(SSL_CTX *ssl, const uint8_t *bytes, size_t count) {
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

copenssl_fault copenssl_trust_clients(SSL_CTX *ssl, const uint8_t *bytes, size_t count) {
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

int copenssl_write_subject(const X509 *certificate, char *subject, size_t room) {
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
    int found = certificate != NULL && copenssl_write_subject(certificate, subject, room);
    ERR_clear_error();
    return found;
}

int copenssl_context_is_self_issued(const copenssl_context *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    return certificate != NULL &&
           X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
}
