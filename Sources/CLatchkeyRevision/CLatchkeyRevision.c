#include "CLatchkeyRevision.h"

#include <stddef.h>

// Two steps, because # does not expand its operand.
#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

const char *crevision_text(void) {
#ifdef LATCHKEY_REVISION
    return TEXT(LATCHKEY_REVISION);
#else
    return NULL;
#endif
}
