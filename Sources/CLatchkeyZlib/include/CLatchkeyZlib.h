// gzip in one call: zlib's initializers are macros, which Swift does not import.
#ifndef LATCHKEY_CZLIB_H
#define LATCHKEY_CZLIB_H

#include <stddef.h>
#include <stdint.h>

/// Writes bytes in the gzip format (RFC 1952), without a name and a time, so that the output is reproducible. Returns
/// the number of bytes written; 0 if there is too little room or memory.
size_t czlib_gzip(const uint8_t *input, size_t count, uint8_t *output, size_t room, int level);

/// Decodes the gzip format, for tests. Returns the number of bytes written; 0 if it is malformed or needs more room.
size_t czlib_gunzip(const uint8_t *input, size_t count, uint8_t *output, size_t room);

#endif
