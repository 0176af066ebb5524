// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace weft::simulate {

// Large buffers of simulated ranks: 205 GB of them would not fit into memory, and their content does not affect the
// time. Every folded buffer maps the same few pages, so it may be read and written anywhere but does not keep its
// content.

// Null when the address space or the number of mappings (vm.max_map_count) is used up.
std::byte *map_folded(std::size_t bytes);
void unmap_folded(std::byte *data, std::size_t bytes) noexcept;

// Whether an address lies in a folded buffer.
bool is_folded(void const *address) noexcept;

// Makes SMPI deliver messages from folded buffers without copying them. Call once per process.
void spare_folded_copies();

} // namespace weft::simulate
