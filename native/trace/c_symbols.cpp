// SPDX-License-Identifier: BSD-3-Clause
// The MPI functions of C that libweft_trace.so replaces, made from calls.inc: parameters from the declarations of
// mpi.h. Each hands on to the next function of its name, so that libweft.so may stand between us and the library.
#include "traced.hpp"

#include <dlfcn.h>

using namespace weft::trace;

namespace {

template <typename Function> struct Parameters;
template <typename... A> struct Parameters<int(A...)> {
    template <std::size_t i> using at = std::tuple_element_t<i, std::tuple<A...>>;
};

template <typename Function> Function *next(char const *name, Function *otherwise) noexcept {
    void *const found = dlsym(RTLD_NEXT, name);
    return found == nullptr ? otherwise : reinterpret_cast<Function *>(found);
}

} // namespace

#define P(name, i) Parameters<decltype(PMPI_##name)>::at<i>
#define WEFT_PARAMETERS_1(name) P(name, 0) a
#define WEFT_ARGUMENTS_1 a
#define WEFT_PARAMETERS_2(name) P(name, 0) a, P(name, 1) b
#define WEFT_ARGUMENTS_2 a, b
#define WEFT_PARAMETERS_3(name) P(name, 0) a, P(name, 1) b, P(name, 2) c
#define WEFT_ARGUMENTS_3 a, b, c
#define WEFT_PARAMETERS_4(name) P(name, 0) a, P(name, 1) b, P(name, 2) c, P(name, 3) d
#define WEFT_ARGUMENTS_4 a, b, c, d
#define WEFT_PARAMETERS_5(name) P(name, 0) a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e
#define WEFT_ARGUMENTS_5 a, b, c, d, e
#define WEFT_PARAMETERS_6(name) P(name, 0) a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f
#define WEFT_ARGUMENTS_6 a, b, c, d, e, f
#define WEFT_PARAMETERS_7(name)                                                                                        \
    P(name, 0) a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g
#define WEFT_ARGUMENTS_7 a, b, c, d, e, f, g
#define WEFT_PARAMETERS_8(name)                                                                                        \
    P(name, 0) a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g, P(name, 7) h
#define WEFT_ARGUMENTS_8 a, b, c, d, e, f, g, h
#define WEFT_PARAMETERS_9(name)                                                                                        \
    P(name, 0)                                                                                                         \
    a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g, P(name, 7) h, P(name, 8) i
#define WEFT_ARGUMENTS_9 a, b, c, d, e, f, g, h, i
#define WEFT_PARAMETERS_10(name)                                                                                       \
    P(name, 0)                                                                                                         \
    a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g, P(name, 7) h, P(name, 8) i, \
        P(name, 9) j
#define WEFT_ARGUMENTS_10 a, b, c, d, e, f, g, h, i, j
#define WEFT_PARAMETERS_11(name)                                                                                       \
    P(name, 0)                                                                                                         \
    a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g, P(name, 7) h, P(name, 8) i, \
        P(name, 9) j, P(name, 10) k
#define WEFT_ARGUMENTS_11 a, b, c, d, e, f, g, h, i, j, k
#define WEFT_PARAMETERS_12(name)                                                                                       \
    P(name, 0)                                                                                                         \
    a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g, P(name, 7) h, P(name, 8) i, \
        P(name, 9) j, P(name, 10) k, P(name, 11) l
#define WEFT_ARGUMENTS_12 a, b, c, d, e, f, g, h, i, j, k, l
#define WEFT_PARAMETERS_13(name)                                                                                       \
    P(name, 0)                                                                                                         \
    a, P(name, 1) b, P(name, 2) c, P(name, 3) d, P(name, 4) e, P(name, 5) f, P(name, 6) g, P(name, 7) h, P(name, 8) i, \
        P(name, 9) j, P(name, 10) k, P(name, 11) l, P(name, 12) m
#define WEFT_ARGUMENTS_13 a, b, c, d, e, f, g, h, i, j, k, l, m

#define WEFT_RECORDED(called, name, arity, ...)                                                                        \
    int MPI_##called(WEFT_PARAMETERS_##arity(called)) {                                                                \
        static auto *const library = next("MPI_" #called, PMPI_##called);                                              \
        return traced<__VA_ARGS__, C>(Call::name, __builtin_return_address(0), library, WEFT_ARGUMENTS_##arity);       \
    }
#define WEFT_CALL(number, name, lower, upper, arity, buffers, family) WEFT_RECORDED(name, name, arity, family)
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define WEFT_PARTITIONED(number, name, arity, family) WEFT_RECORDED(name, name, arity, family)
#else
#define WEFT_PARTITIONED(number, name, arity, family)
#endif
#if MPI_VERSION >= 4
#define WEFT_LARGE(large, name, arity, family) WEFT_RECORDED(large, name, arity, family)
#else
#define WEFT_LARGE(large, name, arity, family)
#endif

#pragma GCC visibility push(default)
extern "C" {

int MPI_Init(int *argc, char ***argv) {
    int const code = next("MPI_Init", PMPI_Init)(argc, argv);
    if (code == MPI_SUCCESS) {
        tracer().begin();
    }
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int const code = next("MPI_Init_thread", PMPI_Init_thread)(argc, argv, required, provided);
    if (code == MPI_SUCCESS) {
        tracer().begin();
    }
    return code;
}

int MPI_Finalize(void) {
    tracer().end();
    return next("MPI_Finalize", PMPI_Finalize)();
}

#include "calls.inc"
}
#pragma GCC visibility pop
