#include "CLatchkeySite.h"

// #embed is of C23, and clang has it for every C. The compiler notes the files among the dependencies of this one, so a
// change of a page compiles this file again, and nothing else. A test compares the list with the folder.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_css[] = {
#embed "../../Public/api.css"
};
static const unsigned char api_html[] = {
#embed "../../Public/api.html"
};
static const unsigned char api_js[] = {
#embed "../../Public/api.js"
};
static const unsigned char console_account_js[] = {
#embed "../../Public/console-account.js"
};
static const unsigned char console_explain_js[] = {
#embed "../../Public/console-explain.js"
};
static const unsigned char console_number_js[] = {
#embed "../../Public/console-number.js"
};
static const unsigned char console_parts_js[] = {
#embed "../../Public/console-parts.js"
};
static const unsigned char console_phone_js[] = {
#embed "../../Public/console-phone.js"
};
static const unsigned char console_story_js[] = {
#embed "../../Public/console-story.js"
};
static const unsigned char console_trace_js[] = {
#embed "../../Public/console-trace.js"
};
static const unsigned char console_transaction_js[] = {
#embed "../../Public/console-transaction.js"
};
static const unsigned char console_css[] = {
#embed "../../Public/console.css"
};
static const unsigned char console_js[] = {
#embed "../../Public/console.js"
};
static const unsigned char favicon_svg[] = {
#embed "../../Public/favicon.svg"
};
static const unsigned char index_html[] = {
#embed "../../Public/index.html"
};
static const unsigned char latchkey_dpop_js[] = {
#embed "../../Public/latchkey-dpop.js"
};
static const unsigned char latchkey_d_ts[] = {
#embed "../../Public/latchkey.d.ts"
};
static const unsigned char latchkey_js[] = {
#embed "../../Public/latchkey.js"
};
static const unsigned char status_css[] = {
#embed "../../Public/status.css"
};
static const unsigned char status_js[] = {
#embed "../../Public/status.js"
};
static const unsigned char style_css[] = {
#embed "../../Public/style.css"
};

#define FILE(path, bytes) {path, bytes, sizeof bytes}

static const struct csite_file files[] = {
    FILE("api.css", api_css),
    FILE("api.html", api_html),
    FILE("api.js", api_js),
    FILE("console-account.js", console_account_js),
    FILE("console-explain.js", console_explain_js),
    FILE("console-number.js", console_number_js),
    FILE("console-parts.js", console_parts_js),
    FILE("console-phone.js", console_phone_js),
    FILE("console-story.js", console_story_js),
    FILE("console-trace.js", console_trace_js),
    FILE("console-transaction.js", console_transaction_js),
    FILE("console.css", console_css),
    FILE("console.js", console_js),
    FILE("favicon.svg", favicon_svg),
    FILE("index.html", index_html),
    FILE("latchkey-dpop.js", latchkey_dpop_js),
    FILE("latchkey.d.ts", latchkey_d_ts),
    FILE("latchkey.js", latchkey_js),
    FILE("status.css", status_css),
    FILE("status.js", status_js),
    FILE("style.css", style_css),
};

const struct csite_file *csite_files(void) { return files; }

size_t csite_file_count(void) { return sizeof files / sizeof *files; }
