// zlib's gzip coding in one call: what begins a stream is a macro, which Swift does not see.
#ifndef LATCHKEY_CZLIB_H
#define LATCHKEY_CZLIB_H

#include <stddef.h>
#include <stdint.h>

/// Writes bytes in the gzip format (RFC 1952), without a name and a time, so that the same bytes come out the same.
/// Returns the number of bytes written; 0 if they need more room than there is, or there is no memory.
size_t czlib_gzip(const uint8_t *input, size_t count, uint8_t *output, size_t room, int level);

/// Undoes the gzip format, for tests. Returns the number of bytes written; 0 if it is none, or needs more room.
size_t czlib_gunzip(const uint8_t *input, size_t count, uint8_t *output, size_t room);

#endif
