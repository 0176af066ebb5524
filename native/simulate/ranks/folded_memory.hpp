// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace weft::simulate {

// Large buffers of simulated ranks: 205 GB of them fit into nothing, and what they hold does not change the time. Every
// folded buffer is a window on the same few pages, so it may be read and written anywhere and keeps nothing.

// Null when the address space or the number of mappings (vm.max_map_count) is used up.
std::byte *map_folded(std::size_t bytes);
void unmap_folded(std::byte *data, std::size_t bytes) noexcept;

// Whether an address lies in a folded buffer.
bool is_folded(void const *address) noexcept;

// Has SMPI carry messages out of folded buffers without copying them. Once a process.
void spare_folded_copies();

} // namespace weft::simulate
