#ifndef CLATCHKEY_PRESETS_H
#define CLATCHKEY_PRESETS_H

#include <stddef.h>

/// The file presets.yaml, as it was when the program was compiled.
const unsigned char *cpresets_bytes(void);
size_t cpresets_count(void);

#endif
