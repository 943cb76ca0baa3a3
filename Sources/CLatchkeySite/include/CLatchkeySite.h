#ifndef CLATCHKEY_SITE_H
#define CLATCHKEY_SITE_H

#include <stddef.h>

/// A file of the folder Public, as it was when the program was compiled.
struct csite_file {
    /// Its path in the folder.
    const char *path;
    const unsigned char *bytes;
    size_t count;
};

/// All files; there are csite_file_count.
const struct csite_file *csite_files(void);
size_t csite_file_count(void);

#endif
