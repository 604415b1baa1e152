// Names of queues: which are allowed, and how a tenant's are told apart.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// A tenant's queue of the same name is another queue.
constexpr char kTenantSeparator = '\x1f';
std::string scoped_queue(std::string_view tenant, std::string_view queue);
std::string_view queue_of_scoped(std::string_view scoped);
std::string_view tenant_of_scoped(std::string_view scoped);

// Queues that the server itself works on: not for clients, and silent.
bool is_internal_queue(std::string_view scoped);

}  // namespace pawl
