#include "CLatchkeyPresets.h"

// As in CLatchkeySite.c.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char presets[] = {
#embed "presets.yaml"
};

const unsigned char *cpresets_bytes(void) { return presets; }

size_t cpresets_count(void) { return sizeof presets; }
