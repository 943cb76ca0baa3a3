// PostgreSQL's client library; finds its header.
#ifndef LATCHKEY_CPOSTGRES_H
#define LATCHKEY_CPOSTGRES_H

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

#ifndef LIBPQ_HAS_PIPELINING
#error "libpq 14 or later is needed, for its pipeline mode"
#endif

#endif
