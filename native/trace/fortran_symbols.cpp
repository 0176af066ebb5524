// SPDX-License-Identifier: BSD-3-Clause
// The same for Fortran, where all arguments are addresses. Open MPI's Fortran bindings call PMPI_ functions, which the
// C functions do not see; so do MPICH's for mpi_f08 where a call has no choice buffer. Its other bindings call the C
// functions.
#include "traced.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace weft::trace;

namespace {

/// The next function of this name: MPI's.
void *behind(char const *name) {
    void *const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "weft: the MPI library has no %s -> this application was built for another MPI\n", name);
        std::abort();
    }
    return found;
}

void give(MPI_Fint *error, int code) {
    if (error != nullptr) { // optional in mpi_f08
        *error = code;
    }
}

/// A Fortran subroutine as a function that returns its error code.
template <typename... A> auto returning(void *subroutine) {
    return [subroutine](A... a) {
        MPI_Fint code = MPI_SUCCESS;
        reinterpret_cast<void (*)(A..., MPI_Fint *)>(subroutine)(a..., &code);
        return int(code);
    };
}

template <typename Family, typename... A> void fortran(Call call, void *from, void *library, MPI_Fint *error, A... a) {
    give(error, traced<Family, Fortran>(call, from, returning<A...>(library), a...));
}

void starts(int code, MPI_Fint *error) {
    if (code == MPI_SUCCESS) {
        tracer().begin();
    }
    give(error, code);
}

} // namespace

#define WEFT_PARAMETERS_1 MPI_Fint *a
#define WEFT_ARGUMENTS_1 a
#define WEFT_PARAMETERS_2 MPI_Fint *a, MPI_Fint *b
#define WEFT_ARGUMENTS_2 a, b
#define WEFT_PARAMETERS_3 MPI_Fint *a, MPI_Fint *b, MPI_Fint *c
#define WEFT_ARGUMENTS_3 a, b, c
#define WEFT_PARAMETERS_4 MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d
#define WEFT_ARGUMENTS_4 a, b, c, d
#define WEFT_PARAMETERS_5 MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e
#define WEFT_ARGUMENTS_5 a, b, c, d, e
#define WEFT_PARAMETERS_6 MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f
#define WEFT_ARGUMENTS_6 a, b, c, d, e, f
#define WEFT_PARAMETERS_7 MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g
#define WEFT_ARGUMENTS_7 a, b, c, d, e, f, g
#define WEFT_PARAMETERS_8                                                                                              \
    MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g, MPI_Fint *h
#define WEFT_ARGUMENTS_8 a, b, c, d, e, f, g, h
#define WEFT_PARAMETERS_9                                                                                              \
    MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g, MPI_Fint *h, MPI_Fint *i
#define WEFT_ARGUMENTS_9 a, b, c, d, e, f, g, h, i
#define WEFT_PARAMETERS_10                                                                                             \
    MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g, MPI_Fint *h,            \
        MPI_Fint *i, MPI_Fint *j
#define WEFT_ARGUMENTS_10 a, b, c, d, e, f, g, h, i, j
#define WEFT_PARAMETERS_11                                                                                             \
    MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g, MPI_Fint *h,            \
        MPI_Fint *i, MPI_Fint *j, MPI_Fint *k
#define WEFT_ARGUMENTS_11 a, b, c, d, e, f, g, h, i, j, k
#define WEFT_PARAMETERS_12                                                                                             \
    MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g, MPI_Fint *h,            \
        MPI_Fint *i, MPI_Fint *j, MPI_Fint *k, MPI_Fint *l
#define WEFT_ARGUMENTS_12 a, b, c, d, e, f, g, h, i, j, k, l
#define WEFT_PARAMETERS_13                                                                                             \
    MPI_Fint *a, MPI_Fint *b, MPI_Fint *c, MPI_Fint *d, MPI_Fint *e, MPI_Fint *f, MPI_Fint *g, MPI_Fint *h,            \
        MPI_Fint *i, MPI_Fint *j, MPI_Fint *k, MPI_Fint *l, MPI_Fint *m
#define WEFT_ARGUMENTS_13 a, b, c, d, e, f, g, h, i, j, k, l, m

#define WEFT_FORTRAN(symbol, name, arity, family)                                                                      \
    void symbol(WEFT_PARAMETERS_##arity, MPI_Fint *error) {                                                            \
        static void *const library = behind(#symbol);                                                                  \
        fortran<family>(Call::name, __builtin_return_address(0), library, error, WEFT_ARGUMENTS_##arity);              \
    }
#define WEFT_INIT(symbol)                                                                                              \
    void symbol(MPI_Fint *error) {                                                                                     \
        starts(returning<>(behind(#symbol))(), error);                                                                 \
    }
#define WEFT_INIT_THREAD(symbol)                                                                                       \
    void symbol(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error) {                                             \
        starts(returning<MPI_Fint *, MPI_Fint *>(behind(#symbol))(required, provided), error);                         \
    }
#define WEFT_FINALIZE(symbol)                                                                                          \
    void symbol(MPI_Fint *error) {                                                                                     \
        tracer().end();                                                                                                \
        give(error, returning<>(behind(#symbol))());                                                                   \
    }

#ifdef OPEN_MPI
// compilers spell mpi_init as mpi_init, mpi_init_, mpi_init__ or MPI_INIT
#define WEFT_SPELLINGS(make, lower, upper, ...)                                                                        \
    make(lower __VA_OPT__(, ) __VA_ARGS__) make(lower##_ __VA_OPT__(, ) __VA_ARGS__)                                   \
        make(lower##__ __VA_OPT__(, ) __VA_ARGS__) make(upper __VA_OPT__(, ) __VA_ARGS__)                              \
            make(lower##_f08_ __VA_OPT__(, ) __VA_ARGS__)
#define WEFT_OF_B(lower, upper, name, arity, family)                                                                   \
    WEFT_SPELLINGS(WEFT_FORTRAN, mpi_##lower, MPI_##upper, name, arity, family)
#define WEFT_OF_N WEFT_OF_B
#else
#define WEFT_SPELLINGS(make, lower, upper, ...) make(lower##_f08_ __VA_OPT__(, ) __VA_ARGS__)
#define WEFT_OF_B(lower, upper, name, arity, family)
#define WEFT_OF_N(lower, upper, name, arity, family)                                                                   \
    WEFT_SPELLINGS(WEFT_FORTRAN, mpi_##lower, MPI_##upper, name, arity, family)
#endif
#define WEFT_OF_C(lower, upper, name, arity, family)
#define WEFT_CALL(number, name, lower, upper, arity, buffers, family)                                                  \
    WEFT_OF_##buffers(lower, upper, name, arity, family)
#define WEFT_PARTITIONED(number, name, arity, family)
#define WEFT_LARGE(large, name, arity, family)

#pragma GCC visibility push(default)
extern "C" {
WEFT_SPELLINGS(WEFT_INIT, mpi_init, MPI_INIT)
WEFT_SPELLINGS(WEFT_INIT_THREAD, mpi_init_thread, MPI_INIT_THREAD)
WEFT_SPELLINGS(WEFT_FINALIZE, mpi_finalize, MPI_FINALIZE)
#include "calls.inc"
}
#pragma GCC visibility pop
