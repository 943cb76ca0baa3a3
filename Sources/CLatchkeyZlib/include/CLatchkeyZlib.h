// gzip in one call, and its decoding in pieces: zlib's initializers are macros, which Swift does not import.
#ifndef LATCHKEY_CZLIB_H
#define LATCHKEY_CZLIB_H

#include <stddef.h>
#include <stdint.h>

/// Writes bytes in the gzip format (RFC 1952), without a name and a time, so that the output is reproducible. Returns
/// the number of bytes written; 0 if there is too little room or memory.
size_t czlib_gzip(const uint8_t *input, size_t count, uint8_t *output, size_t room, int level);

/// Decodes the gzip format, for tests. Returns the number of bytes written; 0 if it is malformed or needs more room.
size_t czlib_gunzip(const uint8_t *input, size_t count, uint8_t *output, size_t room);

/// Decodes the gzip format in pieces; for one thread at a time.
typedef struct czlib_inflater czlib_inflater;

typedef enum czlib_status {
    CZLIB_MORE = 0,
    /// The end of the stream; bytes may follow.
    CZLIB_ENDED,
    CZLIB_MALFORMED,
} czlib_status;

/// NULL if there is no memory.
czlib_inflater *czlib_inflater_make(void);
void czlib_inflater_free(czlib_inflater *inflater);

/// Decodes as much of the input as there is room for; writes how many bytes were taken and made.
czlib_status czlib_inflate(czlib_inflater *inflater, const uint8_t *input, size_t count, size_t *taken,
                           uint8_t *output, size_t room, size_t *made);

#endif
