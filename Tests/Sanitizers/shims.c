// Uses the C targets at their limits, with memory of the exact size, under AddressSanitizer and
// UndefinedBehaviorSanitizer: `scripts/sanitizers shims`, which gives the folder of test certificates.
#define _GNU_SOURCE
#include "CLatchkeyOpenSSL.h"
#include "CLatchkeySQLite.h"
#include "CLatchkeyZlib.h"

// For its functions that are not exported.
#include "../../Sources/CLatchkeySystem/CLatchkeySystem.c"

#include <netinet/in.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "shims: %s:%d: %s does not hold\n", __FILE__, __LINE__, #holds);                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static const char *folder;

// Bytes in a block of their own, so that one byte too far is found.
static unsigned char *block(const void *bytes, size_t count) {
    unsigned char *made = malloc(count);
    CHECK(made != NULL || count == 0);
    if (count > 0 && bytes != NULL) memcpy(made, bytes, count);
    return made;
}

static char *text(const char *content) { return (char *)block(content, strlen(content) + 1); }

static uint32_t seed = 1;
static uint32_t any(void) { return seed = seed * 1664525u + 1013904223u, seed >> 8; }

// CLatchkeySystem

static void try_paths(int (*opening)(int, const char *)) {
    int root = csystem_open_folder(folder);
    CHECK(root >= 0);
    char longest[2 * NAME_MAX];
    for (size_t length = 0; length < sizeof longest; length += length < 250 ? 50 : 1) {
        memset(longest, 'x', length);
        longest[length] = 0;
        char *path = text(longest);
        CHECK(opening(root, path) < 0);
        free(path);
    }
    static const char *const paths[] = {"",     "/",    "//",       "a", "a/",    "a/b",    "a/b/",        "a//b",
                                        "../a", "a/..", "a/../a/b", ".", "./a/b", "a/link", "/etc/passwd", "a/b/c"};
    for (size_t index = 0; index < sizeof paths / sizeof *paths; index++) {
        char *path = text(paths[index]);
        int opened = opening(root, path);
        if (strcmp(path, "a/b") == 0) CHECK(opened >= 0);
        if (strncmp(path, "..", 2) == 0 || *path == '/' || strcmp(path, "a/link") == 0) CHECK(opened < 0);
        if (opened >= 0) close(opened);
        free(path);
    }
    close(root);
}

static void use_files(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/a", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/a/b", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/a/link", folder);
    CHECK(symlink("/etc/passwd", path) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK(mkfifo(path, 0600) == 0 || errno == EEXIST);
    try_paths(csystem_open_beneath);
    try_paths(csystem_open_without_links);
}

static void use_sockets(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(client, (struct sockaddr *)&address, length) == 0);
    struct sockaddr_in *peer = (struct sockaddr_in *)block(NULL, sizeof *peer);
    length = sizeof *peer;
    int accepted = csystem_accept(listener, (struct sockaddr *)peer, &length);
    CHECK(accepted >= 0 && csystem_unsent(accepted) == 0 && csystem_unsent(-1) == -1);
    free(peer);
    close(accepted);
    close(client);
    close(listener);
}

// CLatchkeyZlib

static void use_gzip(void) {
    for (size_t count = 0; count < 70000; count = count < 40 ? count + 1 : count * 3) {
        unsigned char *plain = block(NULL, count), *back = block(NULL, count);
        for (size_t index = 0; index < count; index++) plain[index] = (unsigned char)(any() % 5);
        size_t room = count + 64;
        unsigned char *packed = block(NULL, room);
        size_t size = czlib_gzip(plain, count, packed, room, (int)(count % 9) + 1);
        CHECK(size > 0);
        unsigned char *exact = block(packed, size), *tight = block(NULL, size - 1);
        CHECK(czlib_gzip(plain, count, tight, size - 1, (int)(count % 9) + 1) == 0);
        CHECK(czlib_gunzip(exact, size, back, count) == count && memcmp(plain, back, count) == 0);
        // In pieces, and damaged at each of some places.
        for (size_t damage = 0; damage < 8; damage++) {
            if (damage > 0) exact[any() % size] ^= (unsigned char)(1u << damage);
            czlib_inflater *inflater = czlib_inflater_make();
            size_t from = 0, taken, made, step = damage % 3 + 1;
            czlib_status status = CZLIB_MORE;
            for (int rounds = 0; status == CZLIB_MORE && from < size && rounds < 200000; rounds++) {
                size_t next = step < size - from ? step : size - from;
                unsigned char *piece = block(exact + from, next), *output = block(NULL, step);
                status = czlib_inflate(inflater, piece, next, &taken, output, step, &made);
                CHECK(taken <= step && made <= step);
                from += taken;
                free(piece);
                free(output);
            }
            CHECK(damage > 0 || status == CZLIB_ENDED || from == size);
            czlib_inflater_free(inflater);
            czlib_gunzip(exact, size, back, count);
        }
        free(plain), free(back), free(packed), free(exact), free(tight);
    }
    czlib_inflater_free(NULL);
}

// CLatchkeySQLite

static void use_database(void) {
    csqlite_forgo_memory_statistics();
    sqlite3 *database;
    CHECK(sqlite3_open(":memory:", &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "SELECT \"text\"", NULL, NULL, NULL) == SQLITE_OK);
    csqlite_refuse_double_quoted_texts(database);
    CHECK(sqlite3_exec(database, "SELECT \"text\"", NULL, NULL, NULL) == SQLITE_ERROR);
    sqlite3_close(database);
}

// CLatchkeyOpenSSL

typedef struct bytes {
    unsigned char *start;
    size_t count;
} bytes;

static bytes file(const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "rb");
    CHECK(stream != NULL);
    static unsigned char room[1 << 16];
    size_t count = fread(room, 1, sizeof room, stream);
    fclose(stream);
    return (bytes){block(room, count), count};
}

static copenssl_context *context(bytes chain, bytes key, bytes authorities, copenssl_clients clients) {
    copenssl_fault fault;
    const char *reason;
    copenssl_context *made = copenssl_context_make(chain.start, chain.count, key.start, key.count, authorities.start,
                                                   authorities.count, clients, &fault, &reason);
    CHECK((made == NULL) == (fault != COPENSSL_SOUND));
    return made;
}

// Texts that are cut and damaged anywhere.
static void use_damaged_texts(bytes chain, bytes key) {
    for (size_t count = 0; count < chain.count; count += 7) {
        bytes cut = {block(chain.start, count), count};
        copenssl_context_free(context(cut, key, cut, COPENSSL_CLIENTS_REQUIRED));
        free(cut.start);
    }
    for (size_t count = 0; count < key.count; count += 3) {
        bytes cut = {block(key.start, count), count};
        copenssl_context_free(context(chain, cut, chain, COPENSSL_CLIENTS_UNASKED));
        free(cut.start);
    }
    for (int round = 0; round < 300; round++) {
        bytes damaged = {block(chain.start, chain.count), chain.count};
        damaged.start[any() % damaged.count] ^= (unsigned char)(1u << any() % 8);
        copenssl_context_free(context(damaged, key, damaged, COPENSSL_CLIENTS_ASKED));
        free(damaged.start);
    }
    copenssl_context_free(NULL);
}

// A handshake of `steps` steps, and then what both sides say, in pieces of `room` bytes.
static void talk(copenssl_context *server_context, copenssl_context *client_context, int steps, size_t room) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    copenssl_session *server = copenssl_session_make(server_context, ends[0]);
    copenssl_session *client = copenssl_client_session_make(client_context, ends[1], "localhost", 0);
    CHECK(server != NULL && client != NULL);
    copenssl_outcome served = COPENSSL_AGAIN, connected = COPENSSL_AGAIN;
    for (int step = 0; step < steps && (served == COPENSSL_AGAIN || connected == COPENSSL_AGAIN); step++) {
        copenssl_ready(client, 0);
        if (connected == COPENSSL_AGAIN) connected = copenssl_handshake(client);
        copenssl_ready(server, 0);
        if (served == COPENSSL_AGAIN) served = copenssl_handshake(server);
    }
    if (served == COPENSSL_DONE && connected == COPENSSL_DONE) {
        CHECK(copenssl_certificate_fault(client) == NULL && copenssl_server_not_after(client) > 0);
        char subject[8];
        uint8_t digest[32];
        CHECK(!copenssl_client_certificate(server, subject, sizeof subject, digest));
        size_t total = 100000, sent = 0, received = 0, count;
        unsigned char *content = block(NULL, total), *buffer = block(NULL, room);
        memset(content, 'c', total);
        while (received < total) {
            if (sent < total && copenssl_write(client, content + sent, total - sent, &count) == COPENSSL_DONE) {
                sent += count;
            }
            copenssl_ready(server, 0);
            copenssl_outcome outcome = copenssl_read(server, buffer, room, &count);
            CHECK(outcome == COPENSSL_DONE || outcome == COPENSSL_AGAIN);
            if (outcome == COPENSSL_DONE) received += count;
            CHECK(count <= room);
            copenssl_ready(client, 0);
        }
        copenssl_end(client);
        copenssl_ready(server, 1);
        CHECK(copenssl_read(server, buffer, room, &count) == COPENSSL_ENDED);
        free(content), free(buffer);
    } else {
        (void)copenssl_reason(server), (void)copenssl_reason(client), (void)copenssl_certificate_fault(client);
    }
    copenssl_session_free(server);
    copenssl_session_free(client);
    close(ends[0]);
    close(ends[1]);
}

static void use_noise(copenssl_context *server_context) {
    for (int round = 0; round < 200; round++) {
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        copenssl_session *server = copenssl_session_make(server_context, ends[0]);
        static const char plain[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        unsigned char noise[600];
        for (size_t index = 0; index < sizeof noise; index++) noise[index] = (unsigned char)any();
        // As the head of a record of TLS.
        if (round % 2) memcpy(noise, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
        if (round == 0) CHECK(write(ends[1], plain, sizeof plain - 1) > 0);
        else CHECK(write(ends[1], noise, any() % sizeof noise) >= 0);
        copenssl_ready(server, 0);
        copenssl_handshake(server);
        if (round == 0) CHECK(copenssl_saw_plain_http(server));
        close(ends[1]);
        copenssl_ready(server, 1);
        copenssl_handshake(server);
        copenssl_session_free(server);
        close(ends[0]);
    }
}

static void use_tls(void) {
    bytes chain = file("chain.pem"), key = file("key.pem");
    use_damaged_texts(chain, key);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/chain.pem", folder);
    copenssl_fault fault;
    const char *reason;
    copenssl_context *client = copenssl_client_context_make(path, path, NULL, NULL, &fault, &reason);
    copenssl_context *strangers = copenssl_client_context_make(NULL, NULL, NULL, NULL, &fault, &reason);
    CHECK(client != NULL && strangers != NULL);
    CHECK(copenssl_client_context_make("/nonexistent", NULL, NULL, NULL, &fault, &reason) == NULL);
    for (int clients = COPENSSL_CLIENTS_UNASKED; clients <= COPENSSL_CLIENTS_REQUIRED; clients++) {
        copenssl_context *server = context(chain, key, chain, (copenssl_clients)clients);
        CHECK(server != NULL && copenssl_context_not_after(server) > copenssl_context_not_before(server));
        for (int steps = 0; steps < 6; steps++) talk(server, client, steps, 1000);
        talk(server, strangers, 20, 1000);
        static const size_t rooms[] = {1, 7, 4096, 16384, 70000};
        for (size_t index = 0; clients != COPENSSL_CLIENTS_REQUIRED && index < sizeof rooms / sizeof *rooms; index++) {
            talk(server, client, 20, rooms[index]);
        }
        use_noise(server);
        copenssl_context_free(server);
    }
    copenssl_context_free(client);
    copenssl_context_free(strangers);
    free(chain.start), free(key.start);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    folder = arguments[1];
    csystem_set_current_loop(arguments);
    CHECK(csystem_current_loop() == arguments);
    csystem_limit_heaps(2, 1 << 20, 1 << 20);
    csystem_name_thread("shims");
    CHECK(csystem_allow_dumps(1) == 0);
    use_files();
    use_sockets();
    use_gzip();
    use_database();
    use_tls();
    puts("shims: the C targets hold");
}
