// SPDX-License-Identifier: BSD-3-Clause
// The same for Fortran. Open MPI's Fortran bindings call PMPI_ functions, which a C interposer does not intercept: `use
// mpi` and mpif.h share the plain names, in the four spellings of compilers; `use mpi_f08` has its own. MPICH's call
// the C functions, except those for start and end in mpi_f08, which call PMPI_Init, PMPI_Init_thread and PMPI_Finalize.
#include "intercept.hpp"
#include "session.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

using namespace weft;
using interpose::intercept;
using interpose::session;

namespace {

/// The next function of this name: MPI's.
template <typename Function> Function behind(char const *name) {
    void *const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "weft: the MPI library has no %s -> this application was built for another MPI\n", name);
        std::abort();
    }
    return reinterpret_cast<Function>(found);
}

void give(MPI_Fint *error, int code) {
    if (error != nullptr) { // optional in mpi_f08
        *error = code;
    }
}

void init(char const *name, MPI_Fint *error) {
    MPI_Fint code = MPI_SUCCESS;
    behind<void (*)(MPI_Fint *)>(name)(&code);
    if (code == MPI_SUCCESS) {
        session().begin();
    }
    give(error, code);
}

void init_thread(char const *name, MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error) {
    MPI_Fint code = MPI_SUCCESS;
    behind<void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *)>(name)(required, provided, &code);
    if (code == MPI_SUCCESS) {
        session().begin();
    }
    give(error, code);
}

void finalize(char const *name, MPI_Fint *error) {
    session().end();
    behind<void (*)(MPI_Fint *)>(name)(error);
}

#ifdef OPEN_MPI

/// A Fortran constant that is identified by its address.
void *sentinel(char const *name) {
    static char nothing = 0;
    void *const found = dlsym(RTLD_DEFAULT, name);
    return found == nullptr ? &nothing : found;
}

void *buffer(void *given) {
    static void *const in_place = sentinel("mpi_fortran_in_place_");
    static void *const bottom = sentinel("mpi_fortran_bottom_");
    return given == in_place ? MPI_IN_PLACE : given == bottom ? MPI_BOTTOM : given;
}

void call_alltoall(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
                   MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *error) {
    void *const from = buffer(sendbuf);
    bool const in_place = from == MPI_IN_PLACE; // then the type may be anything
    give(error,
         intercept(alltoall::AlltoallCall<int>{from, *sendcount, in_place ? MPI_DATATYPE_NULL : MPI_Type_f2c(*sendtype),
                                               buffer(recvbuf), *recvcount, MPI_Type_f2c(*recvtype),
                                               MPI_Comm_f2c(*comm)},
                   "MPI_Alltoall"));
}

void call_alltoallv(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf,
                    MPI_Fint *recvcounts, MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *error) {
    static_assert(sizeof(MPI_Fint) == sizeof(int), "counts of another width would have to be converted");
    void *const from = buffer(sendbuf);
    bool const in_place = from == MPI_IN_PLACE;
    give(error, intercept(alltoall::AlltoallvCall<int, int>{from, sendcounts, sdispls,
                                                            in_place ? MPI_DATATYPE_NULL : MPI_Type_f2c(*sendtype),
                                                            buffer(recvbuf), recvcounts, rdispls,
                                                            MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm)},
                          "MPI_Alltoallv"));
}

using Nine = void (*)(void *, void *, void *, void *, void *, void *, void *, void *, void *);
using Eleven = void (*)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);

#endif

} // namespace

#define WEFT_INIT(name)                                                                                                \
    void name(MPI_Fint *e) {                                                                                           \
        init(#name, e);                                                                                                \
    }
#define WEFT_INIT_THREAD(name)                                                                                         \
    void name(MPI_Fint *r, MPI_Fint *p, MPI_Fint *e) {                                                                 \
        init_thread(#name, r, p, e);                                                                                   \
    }
#define WEFT_FINALIZE(name)                                                                                            \
    void name(MPI_Fint *e) {                                                                                           \
        finalize(#name, e);                                                                                            \
    }
#define WEFT_ALLTOALL(name)                                                                                            \
    void name(void *sb, MPI_Fint *sc, MPI_Fint *st, void *rb, MPI_Fint *rc, MPI_Fint *rt, MPI_Fint *c, MPI_Fint *e) {  \
        call_alltoall(sb, sc, st, rb, rc, rt, c, e);                                                                   \
    }
#define WEFT_ALLTOALLV(name)                                                                                           \
    void name(void *sb, MPI_Fint *sc, MPI_Fint *sd, MPI_Fint *st, void *rb, MPI_Fint *rc, MPI_Fint *rd, MPI_Fint *rt,  \
              MPI_Fint *c, MPI_Fint *e) {                                                                              \
        call_alltoallv(sb, sc, sd, st, rb, rc, rd, rt, c, e);                                                          \
    }
#define WEFT_IALLTOALL(name)                                                                                           \
    void name(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i) {                       \
        session().report().pass("MPI_Ialltoall");                                                                      \
        behind<Nine>(#name)(a, b, c, d, e, f, g, h, i);                                                                \
    }
#define WEFT_IALLTOALLV(name)                                                                                          \
    void name(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j, void *k) {     \
        session().report().pass("MPI_Ialltoallv");                                                                     \
        behind<Eleven>(#name)(a, b, c, d, e, f, g, h, i, j, k);                                                        \
    }
// compilers spell mpi_init as mpi_init, mpi_init_, mpi_init__ or MPI_INIT
#define WEFT_SPELLINGS(make, lower, upper) make(lower) make(lower##_) make(lower##__) make(upper) make(lower##_f08_)

#pragma GCC visibility push(default)
extern "C" {
#ifndef OPEN_MPI
WEFT_INIT(mpi_init_f08_)
WEFT_INIT_THREAD(mpi_init_thread_f08_)
WEFT_FINALIZE(mpi_finalize_f08_)
#else
WEFT_SPELLINGS(WEFT_INIT, mpi_init, MPI_INIT)
WEFT_SPELLINGS(WEFT_INIT_THREAD, mpi_init_thread, MPI_INIT_THREAD)
WEFT_SPELLINGS(WEFT_FINALIZE, mpi_finalize, MPI_FINALIZE)
WEFT_SPELLINGS(WEFT_ALLTOALL, mpi_alltoall, MPI_ALLTOALL)
WEFT_SPELLINGS(WEFT_ALLTOALLV, mpi_alltoallv, MPI_ALLTOALLV)
WEFT_SPELLINGS(WEFT_IALLTOALL, mpi_ialltoall, MPI_IALLTOALL)
WEFT_SPELLINGS(WEFT_IALLTOALLV, mpi_ialltoallv, MPI_IALLTOALLV)
#endif
}
#pragma GCC visibility pop
