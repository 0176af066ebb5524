// SPDX-License-Identifier: BSD-3-Clause
#include "host/thresholds.hpp"

#include <algorithm>
#include <array>

namespace weft {

namespace {

// Parts of names: libraries use similar names for such variables, and newer versions may have more of them.
constexpr std::array<std::string_view, 19> telling_middles{
    "eager_limit",    "EAGER_THRESHOLD",        "EAGER_MAX",   "_msg",          "MSG_SIZE",      "P2P_THRESHOLD",
    "max_send_size",  "min_rdma_pipeline_size", "segmentsize", "_segsize",      "fragment_size", "IQUEUE_CELL_SIZE",
    "CMA_ENABLE",     "single_copy_mechanism",  "CHUNK_SIZE",  "STRIPING_THRE", "XPMEM_ENABLE",  "smsc_",
    "max_inline_send"};
constexpr std::array<std::string_view, 6> library_parts{
    "pml", "btl", "mtl", "smsc", "MPIR_CVAR_CH4_NETMOD", "MPIR_CVAR_CH4_SHM"};

bool is_threshold(std::string_view name) {
    auto const inside = [&](std::string_view middle) { return name.find(middle) != std::string_view::npos; };
    return std::any_of(telling_middles.begin(), telling_middles.end(), inside) ||
           std::find(library_parts.begin(), library_parts.end(), name) != library_parts.end();
}

} // namespace

Settings thresholds(Settings const &variables) {
    Settings found;
    for (auto const &[name, value] : variables) {
        if (is_threshold(name)) {
            found.emplace(name, value);
        }
    }
    return found;
}

} // namespace weft
