// SPDX-License-Identifier: BSD-3-Clause
// The result of a collective by other calls of the library: a performance guideline says that the library's own call is
// no slower (Traeff, Gropp, Thakur 2010; Hunold and others 2016).
#pragma once

#include "collective/collective_calls.hpp"

#include <span>
#include <string_view>

namespace weft {

struct MockUp {
    std::string_view of;                 ///< the collective
    std::string_view name;               ///< the calls that take its place, "scatter+allgather"
    void (*call)(CallArguments const &); ///< needs `CallArguments::room`; throws MpiError
};

std::span<MockUp const> mock_ups();
/// Throws Failure if this collective has no such mock-up.
MockUp const &mock_up_named(std::string_view collective, std::string_view name);

} // namespace weft
