// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft {

/// Ticks for which `cpus` ran any process, from the text of /proc/stat. Interrupts are not among them where the kernel
/// counts them apart (CONFIG_IRQ_TIME_ACCOUNTING): the run time of processes excludes them, too. Where it does not, the
/// column of hardware interrupts is 0, because no tick can hit one, and software interrupts count as the process that
/// they interrupted.
std::int64_t busy_ticks(std::string_view stat, std::vector<int> const &cpus);

} // namespace weft
