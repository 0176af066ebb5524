// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft {

/// The hash of the sources that these kernels were built from: a number can be traced to the code that took it.
char const *kernel_sources() noexcept;

} // namespace weft
