// SPDX-License-Identifier: BSD-3-Clause
// Functions of the machine library, which is loaded before all others.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace weft::simulate {

template <class Function> Function *of_machine(char const *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

// Charges copies of the calling rank: see native/simulate/machine/copies.hpp.
inline void charge_copy(std::size_t bytes) {
    static auto *const charge = of_machine<void(std::size_t)>("weft_charge_copy");
    if (charge != nullptr)
        charge(bytes);
}

inline void settle_copies() {
    static auto *const settle = of_machine<void()>("weft_settle_copies");
    if (settle != nullptr)
        settle();
}

// Whether the copies of SMPI's own algorithms are charged.
inline bool charges_library_copies() {
    static auto *const charged = of_machine<bool()>("weft_charges_library_copies");
    return charged != nullptr && charged();
}

} // namespace weft::simulate
