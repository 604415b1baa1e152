// + - * / % and unary minus: overflow is an error, never a wrong number.
#pragma once

#include "expr/cel/functions.h"

namespace pawl::expr {

// With context.mixed_arithmetic, numbers of different types are converted to double (or to int, if
// both are integers).
Val add(CallContext& context, const Val& a, const Val& b);
Val subtract(CallContext& context, const Val& a, const Val& b);
Val multiply(CallContext& context, const Val& a, const Val& b);
Val divide(CallContext& context, const Val& a, const Val& b);
Val modulo(CallContext& context, const Val& a, const Val& b);
Val negate(const Val& a);

}  // namespace pawl::expr
