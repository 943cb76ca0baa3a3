#include "CLatchkeyPostgres.h"
