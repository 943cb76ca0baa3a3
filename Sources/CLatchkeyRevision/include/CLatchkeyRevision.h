#ifndef C_LATCHKEY_REVISION_H
#define C_LATCHKEY_REVISION_H

/// The commit that the program is built from, as the environment variable LATCHKEY_REVISION of its build names it; or
/// NULL.
const char *crevision_text(void);

#endif
