// Typed forms of libcurl's variadic setters and getters, and the differences between its versions.
#ifndef LATCHKEY_CCURL_H
#define LATCHKEY_CCURL_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

#if LIBCURL_VERSION_NUM < 0x075000
#error "libcurl 7.80 or later is needed: CURLOPT_PREREQFUNCTION is what keeps a request from being sent twice"
#endif

// Setters of an easy handle, by the type of their value.
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value);

/// Sets the functions libcurl calls for body bytes, for each header line, to open a socket and before each sending of
/// the request, all with the same context.
CURLcode ccurl_set_callbacks(CURL *easy, curl_write_callback body, curl_write_callback header,
                             curl_opensocket_callback open_socket, curl_prereq_callback before_sending, void *context);

/// Limits the schemes to https, or to https and http.
CURLcode ccurl_set_schemes(CURL *easy, int allow_http);

/// Lets a transfer end without waiting for a running name lookup, if the library can (7.87 and later).
void ccurl_set_quick_exit(CURL *easy);

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);

long ccurl_response_code(CURL *easy);
void *ccurl_private(CURL *easy);

/// The expiry of the server's certificate on this transfer's connection, as libcurl writes it; NULL if unknown. Valid
/// until the handle's next transfer.
const char *ccurl_certificate_expiry(CURL *easy);

/// The next finished transfer: its easy handle and result; NULL if there is none.
CURL *ccurl_next_finished(CURLM *multi, CURLcode *result);

/// Writes the octets, in network order, of the address libcurl is about to connect to: 4 for IPv4, 16 for IPv6. Their
/// number; 0 for any other family.
size_t ccurl_octets(const struct curl_sockaddr *address, uint8_t octets[16]);

/// Opens a close-on-exec socket for that address; CURL_SOCKET_BAD if the system has none.
curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address);

/// Whether a file can be opened for reading.
int ccurl_can_read(const char *path);

/// Runs a function on a detached thread that takes no signals: SIGPIPE above all, which a write through OpenSSL to a
/// connection that its peer has closed would raise. 0, or an errno.
int ccurl_start_thread(void (*body)(void *context), void *context);

#endif
