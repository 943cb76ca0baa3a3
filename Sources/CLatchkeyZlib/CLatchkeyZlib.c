#include "CLatchkeyZlib.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

// 15 bits of window, and 16 for the gzip format instead of zlib's own.
static const int gzip_format = 15 + 16;

size_t czlib_gzip(const uint8_t *input, size_t count, uint8_t *output, size_t room, int level) {
    if (count > UINT_MAX || room > UINT_MAX) return 0;
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (deflateInit2(&stream, level, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)input;
    stream.avail_in = (uInt)count;
    stream.next_out = output;
    stream.avail_out = (uInt)room;
    int result = deflate(&stream, Z_FINISH);
    size_t written = result == Z_STREAM_END ? stream.total_out : 0;
    deflateEnd(&stream);
    return written;
}

size_t czlib_gunzip(const uint8_t *input, size_t count, uint8_t *output, size_t room) {
    if (count > UINT_MAX || room > UINT_MAX) return 0;
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (inflateInit2(&stream, gzip_format) != Z_OK) return 0;
    stream.next_in = (Bytef *)input;
    stream.avail_in = (uInt)count;
    stream.next_out = output;
    stream.avail_out = (uInt)room;
    int result = inflate(&stream, Z_FINISH);
    size_t written = result == Z_STREAM_END && stream.avail_in == 0 ? stream.total_out : 0;
    inflateEnd(&stream);
    return written;
}
