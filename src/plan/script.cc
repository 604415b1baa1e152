#include "plan/script.h"

namespace pawl::plan {

std::string iteration_name(uint32_t iteration) { return "iter_" + std::to_string(iteration); }
std::string branch_name(uint32_t branch) { return "branch_" + std::to_string(branch); }

}  // namespace pawl::plan
