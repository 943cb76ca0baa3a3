#include "CLatchkeyCurl.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_callbacks(CURL *easy, curl_write_callback body, curl_write_callback header,
                             curl_opensocket_callback open_socket, curl_prereq_callback before_sending,
                             void *context) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    return result;
}

CURLcode ccurl_set_schemes(CURL *easy, int allow_http) {
#if LIBCURL_VERSION_NUM >= 0x075500
    const char *schemes = allow_http ? "https,http" : "https";
    CURLcode result = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, schemes);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
    long schemes = allow_http ? CURLPROTO_HTTPS | CURLPROTO_HTTP : CURLPROTO_HTTPS;
    CURLcode result = curl_easy_setopt(easy, CURLOPT_PROTOCOLS, schemes);
    if (!result) result = curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
    return result;
}

void ccurl_set_quick_exit(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)easy;
#endif
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

long ccurl_response_code(CURL *easy) {
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return code;
}

const char *ccurl_certificate_expiry(CURL *easy) {
    struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &chain) || !chain || chain->num_of_certs < 1) return NULL;
    static const char name[] = "Expire date:";
    for (struct curl_slist *line = chain->certinfo[0]; line; line = line->next) {
        if (!strncmp(line->data, name, sizeof name - 1)) return line->data + sizeof name - 1;
    }
    return NULL;
}

void *ccurl_private(CURL *easy) {
    char *context = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    return context;
}

CURL *ccurl_next_finished(CURLM *multi, CURLcode *result) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

size_t ccurl_octets(const struct curl_sockaddr *address, uint8_t octets[16]) {
    // libcurl declares the first bytes only: the length depends on the family.
    if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in ipv4;
        memcpy(&ipv4, (const char *)address + offsetof(struct curl_sockaddr, addr), sizeof ipv4);
        memcpy(octets, &ipv4.sin_addr, 4);
        return 4;
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 ipv6;
        memcpy(&ipv6, (const char *)address + offsetof(struct curl_sockaddr, addr), sizeof ipv6);
        memcpy(octets, &ipv6.sin6_addr, 16);
        return 16;
    }
    return 0;
}

curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
#ifdef SOCK_CLOEXEC
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    curl_socket_t opened = socket(address->family, address->socktype, address->protocol);
    if (opened != CURL_SOCKET_BAD) fcntl(opened, F_SETFD, FD_CLOEXEC);
    return opened;
#endif
}

int ccurl_can_read(const char *path) {
    return access(path, R_OK) == 0;
}

struct thread_start {
    void (*body)(void *context);
    void *context;
};

static void *run_thread(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    start.body(start.context);
    return NULL;
}

// Synchronous fault signals stay unblocked: blocked, they would end the process without a backtrace.
static void block_signals(sigset_t *previous) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++) sigdelset(&blocked, faults[index]);
    pthread_sigmask(SIG_SETMASK, &blocked, previous);
}

int ccurl_start_thread(void (*body)(void *context), void *context) {
    struct thread_start *start = malloc(sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) {
        free(start);
        return error;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // A thread inherits the mask of its creator.
    sigset_t previous;
    block_signals(&previous);
    pthread_t thread;
    error = pthread_create(&thread, &attributes, run_thread, start);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    pthread_attr_destroy(&attributes);
    if (error) free(start);
    return error;
}
