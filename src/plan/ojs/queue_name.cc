#include "plan/ojs/queue_name.h"

namespace pawl {
namespace {

constexpr std::string_view kInternalPrefix = "pawl.";

}  // namespace

std::string scoped_queue(std::string_view tenant, std::string_view queue) {
  std::string scoped(tenant);
  if (!tenant.empty()) scoped.push_back(kTenantSeparator);
  return scoped.append(queue);
}

std::string_view queue_of_scoped(std::string_view scoped) {
  size_t at = scoped.find(kTenantSeparator);
  return at == std::string_view::npos ? scoped : scoped.substr(at + 1);
}

std::string_view tenant_of_scoped(std::string_view scoped) {
  size_t at = scoped.find(kTenantSeparator);
  return at == std::string_view::npos ? std::string_view{} : scoped.substr(0, at);
}

bool is_internal_queue(std::string_view scoped) {
  return queue_of_scoped(scoped).substr(0, kInternalPrefix.size()) == kInternalPrefix;
}

}  // namespace pawl
