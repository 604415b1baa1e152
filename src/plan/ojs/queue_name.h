// Names of queues: which are allowed, and how those of tenants are distinguished.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

// A tenant's queue of the same name is another queue.
constexpr char kTenantSeparator = '\x1f';
std::string scoped_queue(std::string_view tenant, std::string_view queue);
std::string_view queue_of_scoped(std::string_view scoped);
std::string_view tenant_of_scoped(std::string_view scoped);

// Queues of the server itself: closed to clients, and without events.
bool is_internal_queue(std::string_view scoped);

}  // namespace pawl
