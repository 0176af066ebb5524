// SPDX-License-Identifier: BSD-3-Clause
// Compiled apart from all others, with a definition of its own: so it includes nothing that takes time.
#include "launch/sources.hpp"

#ifndef WEFT_KERNEL_SOURCES
#define WEFT_KERNEL_SOURCES "" // set by CMake
#endif

char const *weft::kernel_sources() noexcept {
    return WEFT_KERNEL_SOURCES;
}
