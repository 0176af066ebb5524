// SPDX-License-Identifier: BSD-3-Clause
#include "folded_memory.hpp"

#include <smpi/smpi.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>

namespace weft::simulate {
namespace {

// A rank really copies its own block, so up to this much memory is used, once per process. A smaller fold would need
// more mappings (at most 65,530 per process): each buffer takes one per fold.
constexpr std::size_t fold_bytes = std::size_t{256} << 20;

// All ranks are one process (smpi/privatization:no), so they share these, as intended.
struct Folds {
    int file = -1;
    std::map<std::uintptr_t, std::size_t> buffers; // begin -> bytes
};

Folds &folds() {
    static Folds instance;
    return instance;
}

int fold_file() {
    auto &file = folds().file;
    if (file < 0) {
        file = memfd_create("weft-fold", MFD_CLOEXEC);
        if (file >= 0 && ftruncate(file, static_cast<off_t>(fold_bytes)) != 0)
            file = -1;
    }
    return file;
}

bool fold_into(std::byte *data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += fold_bytes) {
        auto const part = std::min(fold_bytes, bytes - at);
        if (mmap(data + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fold_file(), 0) ==
            MAP_FAILED)
            return false;
    }
    return true;
}

// SMPI's own copy of an arriving message, except from a folded buffer, whose data are never read.
void copy_unless_folded(smx_activity_t activity, void *data, std::size_t bytes) {
    if (!is_folded(data))
        smpi_comm_copy_buffer_callback(reinterpret_cast<simgrid::kernel::activity::CommImpl *>(activity), data, bytes);
}

} // namespace

std::byte *map_folded(std::size_t bytes) {
    if (fold_file() < 0)
        return nullptr;
    auto *const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return nullptr;
    auto *const data = static_cast<std::byte *>(place);
    if (!fold_into(data, bytes)) {
        munmap(place, bytes);
        return nullptr;
    }
    folds().buffers.emplace(reinterpret_cast<std::uintptr_t>(data), bytes);
    return data;
}

void unmap_folded(std::byte *data, std::size_t bytes) noexcept {
    folds().buffers.erase(reinterpret_cast<std::uintptr_t>(data));
    munmap(data, bytes);
}

bool is_folded(void const *address) noexcept {
    auto const &buffers = folds().buffers;
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    auto const after = buffers.upper_bound(at);
    if (after == buffers.begin())
        return false;
    auto const &[begin, bytes] = *std::prev(after);
    return at - begin < bytes;
}

void spare_folded_copies() {
    smpi_comm_set_copy_data_callback(copy_unless_folded);
}

} // namespace weft::simulate
