// Memory that OpenSSL has.
#include <openssl/crypto.h>

// OpenSSL frees everything it has when a process exits, also what other threads are using or freeing at that moment: a
// command that ends while a loop closes its connections would crash. The system takes the memory back anyway. Before
// main, because only the first initialization decides, and libpq may be the first to use OpenSSL.
__attribute__((constructor)) static void leave_memory_at_exit(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
