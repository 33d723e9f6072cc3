// Errors over HTTP, as RFC 9457 wants them, in our own words.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "supervisor/control/documents.hpp"
#include "supervisor/control/http_server.hpp"

namespace pgflow::supervisor {

HttpAnswer problem(int status, const Error& error, std::vector<WrongPlace> places = {});
// The status that an error of an order deserves.
HttpAnswer problem(const Error& refused_order);

}  // namespace pgflow::supervisor
