// SPDX-License-Identifier: BSD-3-Clause
// Symbols that SimGrid 3.32 exports of classes whose headers it does not install. The machine library is loaded before
// SimGrid's (LD_PRELOAD), so a function that is defined here under such a name is the one that SMPI itself calls.
#pragma once

#include <smpi/smpi.h>
#include <xbt/config.hpp>

#include <dlfcn.h>

#include <string>

namespace simgrid::smpi {

class Datatype {
  public:
    static int copy(void const *from, int from_count, Datatype *from_type, void *to, int to_count, Datatype *to_type);
};

class Op;

class Comm {
  public:
    void init_smp();
};

class Request {
  public:
    static void send(void const *data, int count, Datatype *type, int to, int tag, Comm *comm);
    static Request *isend(void const *data, int count, Datatype *type, int to, int tag, Comm *comm);
    static Request *irecv(void *data, int count, Datatype *type, int from, int tag, Comm *comm);
    static int recv(void *data, int count, Datatype *type, int from, int tag, Comm *comm, MPI_Status *status);
    static int wait(Request **request, MPI_Status *status);
    static void sendrecv(void const *data, int count, Datatype *type, int to, int tag, void *into, int into_count,
                         Datatype *into_type, int from, int into_tag, Comm *comm, MPI_Status *status);
};

} // namespace simgrid::smpi

namespace weft::simulate {

// SimGrid's own function of a name that is redefined here.
template <class Function> Function *of_simgrid(char const *symbol) {
    return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, symbol));
}

// Whether Open MPI's table chooses the algorithm of a collective: `setting` is its option of SMPI, "smpi/bcast".
inline bool chosen_by_open_mpi(char const *setting) {
    return simgrid::config::get_value<std::string>(setting) == "ompi";
}

} // namespace weft::simulate
