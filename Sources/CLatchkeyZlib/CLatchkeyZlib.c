#include "CLatchkeyZlib.h"

#include <limits.h>
#include <stdlib.h>
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

struct czlib_inflater {
    z_stream stream;
};

czlib_inflater *czlib_inflater_make(void) {
    czlib_inflater *inflater = calloc(1, sizeof *inflater);
    if (inflater == NULL) return NULL;
    if (inflateInit2(&inflater->stream, gzip_format) == Z_OK) return inflater;
    free(inflater);
    return NULL;
}

void czlib_inflater_free(czlib_inflater *inflater) {
    if (inflater == NULL) return;
    inflateEnd(&inflater->stream);
    free(inflater);
}

czlib_status czlib_inflate(czlib_inflater *inflater, const uint8_t *input, size_t count, size_t *taken,
                           uint8_t *output, size_t room, size_t *made) {
    uInt available = count > UINT_MAX ? UINT_MAX : (uInt)count;
    uInt space = room > UINT_MAX ? UINT_MAX : (uInt)room;
    inflater->stream.next_in = (Bytef *)input;
    inflater->stream.avail_in = available;
    inflater->stream.next_out = output;
    inflater->stream.avail_out = space;
    int result = inflate(&inflater->stream, Z_NO_FLUSH);
    *taken = available - inflater->stream.avail_in;
    *made = space - inflater->stream.avail_out;
    switch (result) {
    case Z_STREAM_END: return CZLIB_ENDED;
    // Without input or room there is no progress, which is no fault.
    case Z_OK:
    case Z_BUF_ERROR: return CZLIB_MORE;
    default: return CZLIB_MALFORMED;
    }
}
