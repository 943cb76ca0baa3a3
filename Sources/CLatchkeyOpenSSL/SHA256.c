// OpenSSL 3 discourages these functions in favour of others that look the algorithm up and allocate a context.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "CLatchkeyOpenSSL.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

void copenssl_sha256(const void *bytes, size_t count, uint8_t digest[32]) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, count);
    SHA256_Final(digest, &context);
    // It has the end of what was hashed.
    OPENSSL_cleanse(&context, sizeof context);
}
