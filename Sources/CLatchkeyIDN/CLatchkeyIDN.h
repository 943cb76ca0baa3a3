// libidn2: https://www.gnu.org/software/libidn/libidn2/manual/
#include <idn2.h>
