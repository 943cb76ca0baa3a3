// A carrier for benchmarks: an OpenID provider with one event loop, whose token responses are signed at its start, so
// that a token request costs little more than its exchange. Benchmarks/README.md describes it.
//
//   carrier --port N --issuer URL --subjects N [--known N --spread N] [--delay-ms N] [--client ID] [--secret TEXT]
//
// Code "c-<n>-<any text>" yields an ID token with the nonce "n-<n>", any number of times. Its user is number n × spread
// for n below `known`, else 10^9 + n; the subject is "sub-" and the number × 2654435761 modulo 2^32 in hexadecimal, so
// that subjects are in no order, as those of real carriers. "once-<n>-<any text>" is as "c-<n>", but is redeemed once
// for each n. "bad-signature", "bad-kid", "bad-none", "bad-iss", "bad-aud", "bad-exp" and "bad-iat" yield a token with
// the nonce "n-0" and one fault.
//
// It is a mobile operator as well: a JWT whose subject is "operatortoken:" and a code, and whose signature it does not
// check, yields the same response (RFC 7523), and device-phone-number the number of the user of an access token.
//
// POST /hook takes any webhook, and counts it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/bn.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    request_limit = 16 << 10,
    claim_limit = 1024,
    fd_limit = 65536,
    fault_count = 7,
    prime_count = 4,
    signature_length = 256,
};

typedef struct {
    char *bytes;
    size_t length;
} text;

typedef struct {
    size_t length;
    unsigned generation;
    bool is_open, is_waiting;
    char bytes[request_limit + 1];
} connection;

typedef struct {
    int fd;
    unsigned generation;
    struct timespec due;
    text response;
} delayed;

static const char *issuer, *client = "bench-app", *secret = "bench-secret", *fault_names[fault_count] = {
    "signature", "kid", "none", "iss", "aud", "exp", "iat"};
static long port, subjects = 1000, known, spread = 1, delay_ms;
static text *responses, faults[fault_count], configuration, keys;
static unsigned char *redeemed;
static long next_subject, opened, exchanges, discoveries, key_requests, hooks;
static time_t now;
static char taken[] = "HTTP/1.1 204 No Content\r\n\r\n";
static const text hook_taken = {taken, sizeof taken - 1};
static BIGNUM *modulus, *factors[prime_count], *exponents[prime_count], *coefficients[prime_count];
static BN_MONT_CTX *montgomery[prime_count];
static char authorization[512];
static connection *connections[fd_limit];
static delayed *waiting;
static size_t waiting_first, waiting_count;

static void fail(const char *what) {
    fprintf(stderr, "carrier: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static text rendered(const char *format, ...) {
    text made = {0};
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&made.bytes, format, arguments);
    va_end(arguments);
    if (length < 0) fail("out of memory");
    made.length = (size_t)length;
    return made;
}

static text response(int status, const char *caching, text body) {
    text made = rendered(
        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nCache-Control: %s\r\nContent-Length: %zu\r\n\r\n%s",
        status, status == 200 ? "OK" : "Error", caching, body.length, body.bytes);
    free(body.bytes);
    return made;
}

// Writes base64url without padding, or base64 for Basic authentication; returns the end.
static char *base64(char *to, const void *from, size_t length, bool is_url) {
    static const char *alphabets[] = {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
    const char *alphabet = alphabets[is_url];
    const unsigned char *bytes = from;
    for (size_t index = 0; index < length; index += 3) {
        size_t rest = length - index;
        unsigned group = (unsigned)bytes[index] << 16;
        if (rest > 1) group |= (unsigned)bytes[index + 1] << 8;
        if (rest > 2) group |= bytes[index + 2];
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        if (rest > 1) *to++ = alphabet[group >> 6 & 63];
        else if (!is_url) *to++ = '=';
        if (rest > 2) *to++ = alphabet[group & 63];
        else if (!is_url) *to++ = '=';
    }
    *to = 0;
    return to;
}

// Reads base64url without padding up to a character that is none of it; returns the length.
static size_t read_base64(char *to, size_t limit, const char *from) {
    static const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = 0;
    unsigned group = 0, bits = 0;
    for (const char *found; *from && (found = strchr(alphabet, *from)) && length < limit; from++) {
        group = group << 6 | (unsigned)(found - alphabet);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        to[length++] = (char)(group >> bits);
    }
    return length;
}

// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section 8.2.1), by the Chinese remainder theorem.
static void sign(char *to, const char *input, BN_CTX *context) {
    static const unsigned char prefix[] = {
        0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
        0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20};
    unsigned char bytes[signature_length];
    size_t padding = sizeof bytes - SHA256_DIGEST_LENGTH - sizeof prefix;
    memset(bytes, 0xff, padding);
    bytes[0] = bytes[padding - 1] = 0;
    bytes[1] = 1;
    memcpy(bytes + padding, prefix, sizeof prefix);
    SHA256((const unsigned char *)input, strlen(input), bytes + padding + sizeof prefix);
    BN_CTX_start(context);
    BIGNUM *message = BN_CTX_get(context), *part = BN_CTX_get(context), *sum = BN_CTX_get(context);
    if (!sum || !BN_bin2bn(bytes, sizeof bytes, message)) fail("could not sign");
    for (int index = 0; index < prime_count; index++)
        if (!BN_nnmod(part, message, factors[index], context) ||
            !BN_mod_exp_mont(part, part, exponents[index], factors[index], context, montgomery[index]) ||
            !BN_mul(part, part, coefficients[index], context) || !BN_add(sum, sum, part))
            fail("could not sign");
    if (!BN_nnmod(sum, sum, modulus, context) || BN_bn2binpad(sum, bytes, sizeof bytes) < 0) fail("could not sign");
    BN_CTX_end(context);
    base64(to, bytes, sizeof bytes, true);
}

typedef struct {
    const char *header, *issuer, *audience;
    long nonce, issued, expires;
    unsigned long subject;
    bool has_other_claims_signed, is_unsigned;
} token;

static char *token_input(char *to, token made) {
    char claims[claim_limit];
    int length = snprintf(
        claims, sizeof claims,
        "{\"iss\":\"%s\",\"sub\":\"sub-%08lx\",\"aud\":\"%s\",\"iat\":%ld,\"exp\":%ld,\"auth_time\":%ld,"
        "\"acr\":\"a1\",\"nonce\":\"n-%ld\"}",
        made.issuer, made.subject * 2654435761 & 0xffffffff, made.audience, made.issued, made.expires, (long)now,
        made.nonce);
    if (length < 0 || length >= claim_limit) fail("the claims are too long");
    to = base64(to, made.header, strlen(made.header), true);
    *to++ = '.';
    return base64(to, claims, (size_t)length, true);
}

static text token_response(token made, BN_CTX *context) {
    char compact[4 * claim_limit], other[4 * claim_limit];
    char *end = token_input(compact, made);
    const char *input = compact;
    if (made.has_other_claims_signed) {
        made.subject += 1;
        token_input(other, made);
        input = other;
    }
    char signature[1024] = "";
    if (!made.is_unsigned) sign(signature, input, context);
    *end++ = '.';
    strcpy(end, signature);
    return response(
        200, "no-store",
        rendered(
            "{\"access_token\":\"at-%lu\",\"token_type\":\"Bearer\",\"expires_in\":3600,\"scope\":\"openid\","
            "\"id_token\":\"%s\"}",
            made.subject, compact));
}

static token good_token(long n) {
    return (token){
        .header = "{\"alg\":\"RS256\",\"kid\":\"bench-1\",\"typ\":\"JWT\"}",
        .issuer = issuer,
        .audience = client,
        .subject = (unsigned long)(n < known ? n * spread : 1000000000 + n),
        .nonce = n,
        .issued = now,
        .expires = now + 24 * 3600};
}

static void *sign_some(void *unused) {
    BN_CTX *context = BN_CTX_new();
    if (!context) fail("out of memory");
    for (;;) {
        long first = __atomic_fetch_add(&next_subject, 64, __ATOMIC_RELAXED);
        if (first >= subjects) break;
        for (long n = first; n < first + 64 && n < subjects; n++) responses[n] = token_response(good_token(n), context);
        if (first && first % 16384 == 0)
            fprintf(stderr, "carrier: %ld of %ld tokens signed\n", first, subjects);
    }
    BN_CTX_free(context);
    return unused;
}

static void sign_all(void) {
    responses = calloc((size_t)subjects, sizeof *responses);
    redeemed = calloc((size_t)subjects, 1);
    if (!responses || !redeemed) fail("out of memory");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[16];
    size_t count = cores < 1 ? 1 : cores > 16 ? 16 : (size_t)cores;
    for (size_t index = 0; index < count; index++)
        if (pthread_create(&threads[index], NULL, sign_some, NULL)) fail("could not start a thread");
    for (size_t index = 0; index < count; index++) pthread_join(threads[index], NULL);
    BN_CTX *context = BN_CTX_new();
    if (!context) fail("out of memory");
    for (int index = 0; index < fault_count; index++) {
        token made = good_token(0);
        switch (index) {
        case 0: made.has_other_claims_signed = true; break;
        case 1: made.header = "{\"alg\":\"RS256\",\"kid\":\"unknown\",\"typ\":\"JWT\"}"; break;
        case 2: made.header = "{\"alg\":\"none\"}"; made.is_unsigned = true; break;
        case 3: made.issuer = "https://other.example"; break;
        case 4: made.audience = "another-app"; break;
        case 5: made.expires = now - 3600; made.issued = now - 7200; break;
        default: made.issued = now + 3600; break;
        }
        faults[index] = token_response(made, context);
    }
    BN_CTX_free(context);
}

// A key of four primes signs some four times as fast as one of two; to a verifier, its public key is as any other.
static bool make_key(BN_CTX *context) {
    BIGNUM *exponent = BN_new(), *less = BN_new();
    if (!exponent || !less || !(modulus = BN_new()) || !BN_set_word(exponent, 65537)) return false;
    for (int index = 0; index < prime_count; index++)
        if (!(factors[index] = BN_new()) || !(exponents[index] = BN_new()) || !(coefficients[index] = BN_new()) ||
            !(montgomery[index] = BN_MONT_CTX_new()))
            return false;
    do {
        if (!BN_one(modulus)) return false;
        for (int index = 0; index < prime_count; index++) {
            int bits = 8 * signature_length / prime_count;
            do {
                if (!BN_generate_prime_ex(factors[index], bits, false, NULL, NULL, NULL) ||
                    !BN_sub(less, factors[index], BN_value_one()))
                    return false;
            } while (BN_mod_word(less, 65537) == 0);
            if (!BN_mod_inverse(exponents[index], exponent, less, context) ||
                !BN_mul(modulus, modulus, factors[index], context))
                return false;
        }
    } while (BN_num_bits(modulus) != 8 * signature_length);
    for (int index = 0; index < prime_count; index++) {
        BIGNUM *others = coefficients[index];
        if (!BN_div(others, NULL, modulus, factors[index], context) ||
            !BN_mod_inverse(less, others, factors[index], context) || !BN_mul(others, others, less, context) ||
            !BN_MONT_CTX_set(montgomery[index], factors[index], context))
            return false;
    }
    unsigned char bytes[signature_length];
    char encoded[2 * signature_length];
    base64(encoded, bytes, (size_t)BN_bn2bin(modulus, bytes), true);
    keys = response(
        200, "max-age=3600",
        rendered(
            "{\"keys\":[{\"kty\":\"RSA\",\"use\":\"sig\",\"alg\":\"RS256\",\"kid\":\"bench-1\",\"n\":\"%s\","
            "\"e\":\"AQAB\"}]}",
            encoded));
    BN_free(exponent);
    BN_free(less);
    return true;
}

static text error_response(int status, const char *code) {
    return response(status, "no-store", rendered("{\"error\":\"%s\"}", code));
}

static void close_connection(int fd) {
    if (!connections[fd] || !connections[fd]->is_open) return;
    connections[fd]->is_open = false;
    connections[fd]->generation += 1;
    close(fd);
}

// Loopback sockets take a whole response; a client that reads none is not served.
static void send_all(int fd, text sent) {
    if (send(fd, sent.bytes, sent.length, MSG_NOSIGNAL) != (ssize_t)sent.length) close_connection(fd);
}

static void send_once(int fd, text sent) {
    send_all(fd, sent);
    free(sent.bytes);
}

// The value of a form field, which ends at `&` or the end of the text; NULL if it is missing.
static const char *field(const char *form, const char *name) {
    size_t length = strlen(name);
    for (const char *at = form; at; at = strchr(at, '&')) {
        if (*at == '&') at += 1;
        if (!strncmp(at, name, length) && at[length] == '=') return at + length + 1;
    }
    return NULL;
}

static bool starts(const char *value, const char *prefix) { return !strncmp(value, prefix, strlen(prefix)); }

// The response to a code; NULL if the code is unknown.
static text *code_response(const char *code) {
    if (starts(code, "bad-")) {
        for (int index = 0; index < fault_count; index++)
            if (starts(code + 4, fault_names[index])) return &faults[index];
        return NULL;
    }
    bool is_once = starts(code, "once-");
    if (!is_once && !starts(code, "c-")) return NULL;
    char *end;
    const char *digits = code + (is_once ? 5 : 2);
    if (*digits < '0' || *digits > '9') return NULL;
    errno = 0;
    long n = strtol(digits, &end, 10);
    if (errno || n < 0 || n >= subjects || (*end != '-' && *end != '&' && *end)) return NULL;
    if (is_once && redeemed[n]++) return NULL;
    return &responses[n];
}

// Sends a response of the token endpoint, when it is due.
static void send_tokens(int fd, text *found) {
    if (!found) return send_once(fd, error_response(400, "invalid_grant"));
    if (!delay_ms) return send_all(fd, *found);
    if (waiting_count == fd_limit) return close_connection(fd);
    delayed later = {.fd = fd, .generation = connections[fd]->generation, .response = *found};
    clock_gettime(CLOCK_MONOTONIC, &later.due);
    later.due.tv_nsec += delay_ms % 1000 * 1000000;
    later.due.tv_sec += delay_ms / 1000 + later.due.tv_nsec / 1000000000;
    later.due.tv_nsec %= 1000000000;
    connections[fd]->is_waiting = true;
    waiting[(waiting_first + waiting_count++) % fd_limit] = later;
}

// The response to the operator token in an assertion; NULL if it has none.
static text *assertion_response(const char *assertion) {
    static const char *subject = "\"sub\":\"operatortoken:";
    char claims[2 * claim_limit + 1];
    const char *payload = assertion ? strchr(assertion, '.') : NULL;
    if (!payload) return NULL;
    claims[read_base64(claims, sizeof claims - 1, payload + 1)] = 0;
    const char *found = strstr(claims, subject);
    return found ? code_response(found + strlen(subject)) : NULL;
}

// The number of the user of an access token.
static void number_request(int fd, const char *head) {
    const char *given = strcasestr(head, "\r\nauthorization: bearer at-");
    if (!given) return send_once(fd, error_response(401, "invalid_token"));
    send_once(
        fd, response(
                200, "no-store",
                rendered("{\"devicePhoneNumber\":\"+1%010lu\"}", strtoul(given + 28, NULL, 10))));
}

static void token_request(int fd, const char *head, const char *body) {
    exchanges += 1;
    const char *given = strcasestr(head, "\r\nauthorization:"), *grant = field(body, "grant_type");
    const char *verifier = field(body, "code_verifier"), *code = field(body, "code");
    if (grant && starts(grant, "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"))
        return send_tokens(fd, assertion_response(field(body, "assertion")));
    if (given) given += strspn(given + 16, " ") + 16;
    // A client without a secret signs an assertion. Its signature is not checked, as that of operator tokens is not.
    const char *assertion = field(body, "client_assertion");
    bool signs = assertion && field(body, "client_assertion_type") && strcspn(assertion, "&") > 128;
    if (!signs && (!given || !starts(given, authorization) || given[strlen(authorization)] != '\r'))
        return send_once(fd, error_response(401, "invalid_client"));
    if (!grant || !starts(grant, "authorization_code") || !field(body, "redirect_uri") || !verifier ||
        strcspn(verifier, "&") < 43)
        return send_once(fd, error_response(400, "invalid_request"));
    send_tokens(fd, code ? code_response(code) : NULL);
}

static void answer(int fd, const char *head, const char *body) {
    if (starts(head, "POST /token ")) return token_request(fd, head, body);
    if (starts(head, "GET /number-verification/v2/device-phone-number ")) return number_request(fd, head);
    if (starts(head, "GET /.well-known/openid_configuration") ||
        starts(head, "GET /.well-known/openid-configuration")) {
        discoveries += 1;
        return send_all(fd, configuration);
    }
    if (starts(head, "POST /hook ")) {
        hooks += 1;
        return send_all(fd, hook_taken);
    }
    if (starts(head, "GET /jwks ")) {
        key_requests += 1;
        return send_all(fd, keys);
    }
    if (starts(head, "GET /stats "))
        return send_once(
            fd, response(
                    200, "no-store",
                    rendered(
                        "{\"connections\":%ld,\"exchanges\":%ld,\"discoveries\":%ld,\"key_requests\":%ld,"
                        "\"hooks\":%ld}",
                        opened, exchanges, discoveries, key_requests, hooks)));
    send_once(fd, error_response(404, "not_found"));
}

// Answers the requests of a connection that have arrived whole, one after another.
static void answer_arrived(int fd) {
    connection *from = connections[fd];
    while (from->is_open && !from->is_waiting) {
        from->bytes[from->length] = 0;
        char *end = strstr(from->bytes, "\r\n\r\n");
        if (!end) {
            if (from->length == request_limit) close_connection(fd);
            return;
        }
        char *body = end + 4, *length = strcasestr(from->bytes, "\r\ncontent-length:");
        size_t before = (size_t)(body - from->bytes), count = 0;
        if (length && length < end) count = strtoul(length + 17, NULL, 10);
        if (count > request_limit - before) return close_connection(fd);
        if (from->length < before + count) return;
        char following = body[count];
        body[count] = 0;
        answer(fd, from->bytes, body);
        if (!from->is_open) return;
        body[count] = following;
        from->length -= before + count;
        memmove(from->bytes, body + count, from->length);
    }
}

static void read_from(int fd) {
    connection *from = connections[fd];
    if (!from || !from->is_open) return;
    ssize_t count = recv(fd, from->bytes + from->length, request_limit - from->length, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return close_connection(fd);
    from->length += (size_t)count;
    answer_arrived(fd);
}

static void accept_from(int listener, int events) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (fd >= fd_limit || (!connections[fd] && !(connections[fd] = calloc(1, sizeof(connection))))) {
            close(fd);
            continue;
        }
        opened += 1;
        connections[fd]->length = 0;
        connections[fd]->is_open = true;
        connections[fd]->is_waiting = false;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event)) close_connection(fd);
    }
}

// Sends the delayed responses that are due; returns the milliseconds until the next one, -1 for none.
static int send_due(void) {
    while (waiting_count) {
        delayed *first = &waiting[waiting_first];
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        long left = (first->due.tv_sec - time.tv_sec) * 1000000 + (first->due.tv_nsec - time.tv_nsec) / 1000;
        if (left > 0) return (int)(left / 1000 + 1);
        connection *to = connections[first->fd];
        if (to->is_open && to->generation == first->generation) {
            to->is_waiting = false;
            send_all(first->fd, first->response);
            if (to->is_open) answer_arrived(first->fd);
        }
        waiting_first = (waiting_first + 1) % fd_limit;
        waiting_count -= 1;
    }
    return -1;
}

static long number(const char *value) {
    char *end;
    errno = 0;
    long found = value ? strtol(value, &end, 10) : -1;
    if (!value || errno || *end || !*value || found < 0) {
        errno = 0;
        fail("an option needs a number that is not negative");
    }
    return found;
}

static void read_options(int count, char **words) {
    for (int index = 1; index < count; index += 2) {
        const char *name = words[index], *value = index + 1 < count ? words[index + 1] : NULL;
        if (!strcmp(name, "--port")) port = number(value);
        else if (!strcmp(name, "--subjects")) subjects = number(value);
        else if (!strcmp(name, "--known")) known = number(value);
        else if (!strcmp(name, "--spread")) spread = number(value);
        else if (!strcmp(name, "--delay-ms")) delay_ms = number(value);
        else if (!strcmp(name, "--issuer") && value) issuer = value;
        else if (!strcmp(name, "--client") && value) client = value;
        else if (!strcmp(name, "--secret") && value) secret = value;
        else fail("unknown option, or an option without its value");
    }
    if (port < 1 || port > 65535 || subjects < 1 || subjects > 10000000 || delay_ms > 60000)
        fail("--port is 1 to 65535, --subjects 1 to 10000000, --delay-ms 0 to 60000");
    if (strlen(client) + strlen(secret) > 200 || (issuer && strlen(issuer) > 200))
        fail("--client, --secret and --issuer are at most 200 characters");
}

int main(int count, char **words) {
    read_options(count, words);
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, (struct sockaddr *)&address, sizeof address)) fail("could not bind the port");

    char origin[64], credentials[512];
    snprintf(origin, sizeof origin, "http://127.0.0.1:%ld", port);
    if (!issuer) issuer = origin;
    now = time(NULL);
    snprintf(credentials, sizeof credentials, "%s:%s", client, secret);
    strcpy(authorization, "Basic ");
    base64(authorization + 6, credentials, strlen(credentials), false);
    configuration = response(
        200, "max-age=3600",
        rendered(
            "{\"issuer\":\"%s\",\"authorization_endpoint\":\"%s/authorize\",\"token_endpoint\":\"%s/token\","
            "\"userinfo_endpoint\":\"%s/userinfo\",\"jwks_uri\":\"%s/jwks\",\"mccmnc\":310010,"
            "\"token_endpoint_auth_methods_supported\":[\"client_secret_basic\",\"private_key_jwt\"]}",
            issuer, origin, origin, origin, origin));
    BN_CTX *context = BN_CTX_new();
    if (!context || !make_key(context)) fail("could not make a key");
    BN_CTX_free(context);
    sign_all();
    waiting = calloc(fd_limit, sizeof *waiting);
    int events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event listening = {.events = EPOLLIN, .data.fd = listener};
    if (!waiting || events < 0 || listen(listener, 4096) || epoll_ctl(events, EPOLL_CTL_ADD, listener, &listening))
        fail("could not listen");
    fprintf(stderr, "carrier: %ld subjects at %s\n", subjects, origin);
    for (;;) {
        struct epoll_event ready[256];
        int found = epoll_wait(events, ready, 256, send_due());
        if (found < 0 && errno != EINTR) fail("epoll_wait");
        for (int index = 0; index < found; index++) {
            if (ready[index].data.fd == listener) accept_from(listener, events);
            else read_from(ready[index].data.fd);
        }
    }
}
