// A load on a server of Latchkey, with one event loop; scripts/overload runs it.
//
//   load --port N --seconds N (--rate N | --workers N) --subjects N --name TEXT [--new] [--token TEXT]
//
// With --rate it is an open loop: sign-ins are due at fixed times, however the server responds, and a latency counts
// from the time when its request was due. With --workers it is a closed loop: so many requests are in progress, and the
// next one begins when one ends. Requests use kept connections, as those of a proxy: an idle one if there is one, else
// one more. With --new each has a connection of its own. With --token, 50 session checks and 5 probes each of /healthz
// and /readyz are due each second in addition.
//
// It prints one line of JSON for each second, and one for the whole time.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
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
    response_limit = 8 << 10,
    request_limit = 1024,
    // Connections in use at once. A request that finds none waits, and its latency counts.
    connection_limit = 16000,
    // A client waits so long for a response.
    patience_us = 10 * 1000 * 1000,
    // Addresses of clients: one has too few ports for a new connection for each request.
    address_count = 64,
    // Latencies are counted in steps of 1 ms.
    latency_steps = patience_us / 1000 + 1,
    event_count = 512,
};

typedef enum { sign_in, session_check, probe, kind_count } kind;
typedef enum { accepted, refused, refused_without_time, other_status, broken, late, outcome_count } outcome;

static const char *kind_names[kind_count] = {"sign_in", "session_check", "probe"};
static const char *outcome_names[outcome_count] = {
    "accepted", "refused", "refused_without_retry_after", "other_status", "broken", "timed_out"};

typedef struct {
    uint64_t due;
    kind kind;
} request;

typedef struct connection {
    int fd;
    bool is_busy;
    request request;
    uint64_t begun;
    // Neighbours among the busy ones, in the order of `begun`, or among the idle ones.
    struct connection *before, *after;
    size_t sent, length, received;
    char text[request_limit], response[response_limit];
} connection;

typedef struct {
    connection *first, *last;
    size_t count;
} list;

typedef struct {
    uint32_t counts[latency_steps];
    uint64_t total;
    uint64_t longest;
} histogram;

typedef struct {
    uint64_t outcomes[kind_count][outcome_count];
    histogram latencies[kind_count][2];
} figures;

static long port, seconds, rate, workers, subjects = 1;
static const char *name = "load", *token;
static bool is_new;
static int events;
static list busy, idle;
static connection *unused;
static request *waiting;
static size_t waiting_first, waiting_count, waiting_limit;
static figures whole, recent;
static uint64_t made, opened;

static void fail(const char *what) {
    fprintf(stderr, "load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

// Lists

static void append(list *to, connection *added) {
    added->before = to->last;
    added->after = NULL;
    *(to->last ? &to->last->after : &to->first) = added;
    to->last = added;
    to->count += 1;
}

static void take_out(list *from, connection *taken) {
    *(taken->before ? &taken->before->after : &from->first) = taken->after;
    *(taken->after ? &taken->after->before : &from->last) = taken->before;
    from->count -= 1;
}

// Figures

static void count_in(figures *into, kind kind, outcome outcome, uint64_t latency) {
    into->outcomes[kind][outcome] += 1;
    if (outcome != accepted && outcome != refused) return;
    histogram *latencies = &into->latencies[kind][outcome == refused];
    uint64_t step = latency / 1000;
    latencies->counts[step < latency_steps ? step : latency_steps - 1] += 1;
    latencies->total += 1;
    if (latency > latencies->longest) latencies->longest = latency;
}

static void count(request of, outcome outcome) {
    uint64_t latency = now_us() - of.due;
    count_in(&whole, of.kind, outcome, latency);
    count_in(&recent, of.kind, outcome, latency);
}

// The milliseconds that so many per thousand of the latencies do not exceed.
static uint64_t quantile(const histogram *of, uint64_t per_thousand) {
    uint64_t left = (of->total * per_thousand + 999) / 1000;
    for (uint64_t step = 0; step < latency_steps; step++) {
        if (of->counts[step] >= left) return of->total ? step + 1 : 0;
        left -= of->counts[step];
    }
    return latency_steps;
}

static void print_latencies(const char *title, const histogram *latencies) {
    printf(
        ",\"%s\":{\"p50\":%lu,\"p99\":%lu,\"longest\":%lu}", title, quantile(latencies, 500), quantile(latencies, 990),
        (latencies->longest + 999) / 1000);
}

static void print(const figures *of, const char *title, double second) {
    printf(
        "{\"%s\":%.3f,\"connections\":%zu,\"in_progress\":%zu,\"waiting\":%zu,\"opened\":%lu", title, second,
        busy.count + idle.count, busy.count, waiting_count, opened);
    for (int kind = 0; kind < kind_count; kind++) {
        printf(",\"%s\":{", kind_names[kind]);
        for (int outcome = 0; outcome < outcome_count; outcome++)
            printf("%s\"%s\":%lu", outcome ? "," : "", outcome_names[outcome], of->outcomes[kind][outcome]);
        print_latencies("accepted_ms", &of->latencies[kind][0]);
        print_latencies("refused_ms", &of->latencies[kind][1]);
        printf("}");
    }
    printf("}\n");
    fflush(stdout);
}

// Connections

static void dispose(connection *of) {
    close(of->fd);
    of->after = unused;
    unused = of;
}

static void done(connection *with, outcome outcome, bool is_kept) {
    take_out(&busy, with);
    with->is_busy = false;
    count(with->request, outcome);
    if (!is_kept) return dispose(with);
    append(&idle, with);
}

static connection *connected(void) {
    connection *made = unused;
    if (made) unused = made->after;
    else if (!(made = malloc(sizeof *made))) fail("out of memory");
    made->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made->fd < 0) fail("no socket");
    uint32_t host = INADDR_LOOPBACK + 1 + (uint32_t)(opened++ % address_count);
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(made->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
    setsockopt(made->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (bind(made->fd, (struct sockaddr *)&from, sizeof from)) fail("could not bind an address");
    if (connect(made->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) fail("could not connect");
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = made};
    if (epoll_ctl(events, EPOLL_CTL_ADD, made->fd, &event)) fail("epoll_ctl");
    return made;
}

static void write_request(connection *to) {
    static const char *paths[] = {"/healthz", "/readyz"};
    int length;
    uint64_t number = made++;
    // 7919 is prime, so that each user has a turn, in an order unlike that of the table.
    unsigned long n = number * 7919 % (unsigned long)subjects;
    char body[request_limit];
    switch (to->request.kind) {
    case sign_in:
        length = snprintf(
            body, sizeof body,
            "{\"client_id\":\"bench-app\",\"code\":\"c-%lu-%s-%lu\",\"mccmnc\":\"310010\",\"redirect_uri\":"
            "\"https://app.example/callback\",\"code_verifier\":"
            "\"vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv\",\"nonce\":\"n-%lu\"}",
            n, name, number, n);
        length = snprintf(
            to->text, sizeof to->text,
            "POST /auth/zenkey-signin HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-KEY: bench-key\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
            length, body);
        break;
    case session_check:
        length = snprintf(
            to->text, sizeof to->text,
            "GET /users/me HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-KEY: bench-key\r\nAuthorization: Bearer %s\r\n\r\n",
            token);
        break;
    default:
        length = snprintf(to->text, sizeof to->text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", paths[number % 2]);
    }
    if (length < 0 || length >= request_limit) fail("a request is too long");
    to->length = (size_t)length;
    to->sent = to->received = 0;
}

static void send_rest(connection *to) {
    if (to->sent == to->length) return;
    ssize_t count = send(to->fd, to->text + to->sent, to->length - to->sent, MSG_NOSIGNAL);
    if (count > 0) to->sent += (size_t)count;
    // EAGAIN and ENOTCONN: the connection is not there yet. All else shows in a read.
}

static void begin(request of) {
    connection *used = is_new ? NULL : idle.last;
    if (used) take_out(&idle, used);
    else used = connected();
    used->request = of;
    used->is_busy = true;
    used->begun = now_us();
    append(&busy, used);
    write_request(used);
    send_rest(used);
}

static void offer(request of) {
    if (busy.count < connection_limit) return begin(of);
    if (waiting_count == waiting_limit) return count(of, late);
    waiting[(waiting_first + waiting_count++) % waiting_limit] = of;
}

// Returns whether the response is there, with its outcome, and whether the server keeps the connection.
static bool parse(connection *from, outcome *is, bool *is_kept) {
    from->response[from->received] = 0;
    char *end = strstr(from->response, "\r\n\r\n");
    if (!end) return false;
    char *length = strcasestr(from->response, "\r\ncontent-length:");
    size_t content = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    if (from->received < (size_t)(end + 4 - from->response) + content) return false;
    char *retry = strcasestr(from->response, "\r\nretry-after: ");
    char *closes = strcasestr(from->response, "\r\nconnection: close");
    int status = atoi(from->response + 9);
    *is_kept = !is_new && !(closes && closes < end);
    *is = status == 200 ? accepted
          : status != 503 ? other_status
          : retry && retry < end && retry[15] >= '0' && retry[15] <= '9' ? refused : refused_without_time;
    if (*is == other_status) {
        static int shown;
        if (shown++ < 3) fprintf(stderr, "load: unexpected response: %.300s\n", from->response);
    }
    return true;
}

static void ready(connection *of, uint32_t what) {
    if (!of->is_busy) {
        // The server has closed an idle connection.
        if (!(what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
        take_out(&idle, of);
        return dispose(of);
    }
    send_rest(of);
    for (;;) {
        ssize_t count = recv(of->fd, of->response + of->received, response_limit - 1 - of->received, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
        if (count <= 0) return done(of, broken, false);
        of->received += (size_t)count;
        outcome is;
        bool is_kept;
        if (parse(of, &is, &is_kept)) return done(of, is, is_kept && !(what & (EPOLLRDHUP | EPOLLHUP)));
        if (of->received == response_limit - 1) return done(of, other_status, false);
    }
}

// Time

static void give_up(uint64_t now) {
    while (busy.first && busy.first->begun + patience_us < now) done(busy.first, late, false);
}

static void begin_waiting(void) {
    while (waiting_count && busy.count < connection_limit) {
        begin(waiting[waiting_first]);
        waiting_first = (waiting_first + 1) % waiting_limit;
        waiting_count -= 1;
    }
}

// Offers what is due of one kind; returns how many were due so far.
static uint64_t offer_due(kind kind, uint64_t given, uint64_t per_second, uint64_t start, uint64_t now) {
    uint64_t due = start + given * 1000000 / (per_second ? per_second : 1);
    for (; per_second && due <= now; due = start + ++given * 1000000 / per_second)
        offer((request){.due = due, .kind = kind});
    return given;
}

static void run(void) {
    uint64_t start = now_us(), end = start + (uint64_t)seconds * 1000000, shown = start, given[kind_count] = {0};
    const uint64_t rates[kind_count] = {(uint64_t)rate, token ? 50 : 0, token ? 10 : 0};
    struct epoll_event found[event_count];
    for (;;) {
        uint64_t now = now_us();
        if (now - shown >= 1000000) {
            print(&recent, "second", (double)(now - start) / 1e6);
            memset(&recent, 0, sizeof recent);
            shown += 1000000;
        }
        if (now < end) {
            for (int kind = 0; kind < kind_count; kind++)
                given[kind] = offer_due(kind, given[kind], rates[kind], start, now);
            while (workers && busy.count < (size_t)workers) offer((request){.due = now, .kind = sign_in});
        } else if ((!busy.count && !waiting_count) || now > end + 2 * patience_us) {
            break;
        }
        give_up(now);
        begin_waiting();
        int count = epoll_wait(events, found, event_count, 1);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        for (int index = 0; index < count; index++) ready(found[index].data.ptr, found[index].events);
    }
    print(&whole, "whole", (double)seconds);
}

static long number(const char *value) {
    char *end;
    errno = 0;
    long found = value ? strtol(value, &end, 10) : -1;
    if (!value || errno || *end || !*value || found < 1) {
        errno = 0;
        fail("an option needs a positive number");
    }
    return found;
}

static void read_options(int count, char **words) {
    for (int index = 1; index < count; index++) {
        const char *option = words[index];
        if (!strcmp(option, "--new")) {
            is_new = true;
            continue;
        }
        const char *value = ++index < count ? words[index] : NULL;
        if (!strcmp(option, "--port")) port = number(value);
        else if (!strcmp(option, "--seconds")) seconds = number(value);
        else if (!strcmp(option, "--rate")) rate = number(value);
        else if (!strcmp(option, "--workers")) workers = number(value);
        else if (!strcmp(option, "--subjects")) subjects = number(value);
        else if (!strcmp(option, "--name") && value) name = value;
        else if (!strcmp(option, "--token") && value) token = value;
        else fail("unknown option, or an option without its value");
    }
    if (port < 1 || port > 65535 || !seconds || !rate == !workers || workers > connection_limit)
        fail("needed: --port, --seconds, and either --rate or --workers");
}

int main(int count, char **words) {
    read_options(count, words);
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    waiting_limit = (size_t)(rate ? rate : 1) * 20 + 1000;
    waiting = malloc(waiting_limit * sizeof *waiting);
    events = epoll_create1(EPOLL_CLOEXEC);
    if (!waiting || events < 0) fail("could not start");
    run();
}
