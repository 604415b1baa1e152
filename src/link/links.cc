#include "link/links.h"
