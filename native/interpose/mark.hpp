// SPDX-License-Identifier: BSD-3-Clause
// Marks that a preloaded library leaves for whoever preloaded it: a byte in the file LIBWEFT_MARKS when a process loads
// it, another when MPI_Init was seen. A program without both is not served, and would say nothing of it.
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace weft {

constexpr char mark_loaded = 'L', mark_begun = 'I';

inline void leave_mark(char mark) noexcept {
    char const *const path = std::getenv("LIBWEFT_MARKS");
    int const file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0) {
        (void)!::write(file, &mark, 1);
        ::close(file);
    }
}

} // namespace weft
