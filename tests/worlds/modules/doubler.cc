// doubler: a pure module.
//
// input   nat
// output  nat: twice that
#include "pawl_module.h"

using namespace pawl_module;

static void twice(Run& run) { run.set_output(Writer().nat(2 * run.input().nat())); }

PAWL_MODULE_RUN(twice)
