// SPDX-License-Identifier: BSD-3-Clause
#include "intercept.hpp"

#include "choice.hpp"
#include "error.hpp"
#include "session.hpp"
#include "state.hpp"
#include "verify.hpp"

#include <array>

namespace weft::interpose {

namespace {

using namespace weft::alltoall;

/// Calls on a communicator so far: MPI_Alltoall and MPI_Alltoallv.
using Counters = std::array<std::int64_t, 2>;

int counter_key() {
    static int key = [] {
        int made = MPI_KEYVAL_INVALID;
        auto const free_counter = [](MPI_Comm, int, void *value, void *) {
            delete static_cast<Counters *>(value);
            return MPI_SUCCESS;
        };
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, +free_counter, &made, nullptr);
        return made;
    }();
    return key;
}

/// Number of this call among those of its kind on the communicator, from 1: the same on all its ranks, since collective
/// calls are in order.
std::int64_t count_call(MPI_Comm comm, bool vector) {
    void *value = nullptr;
    int found = 0;
    check(PMPI_Comm_get_attr(comm, counter_key(), &value, &found), "MPI_Comm_get_attr");
    if (found == 0) {
        value = new Counters{};
        check(PMPI_Comm_set_attr(comm, counter_key(), value), "MPI_Comm_set_attr");
    }
    return ++(*static_cast<Counters *>(value))[vector ? 1 : 0];
}

template <typename Call> Spec chosen(Call const &call, std::int64_t number, int ranks) {
    if (session().forced() || !session().table()) {
        return session().forced().value_or(Spec{});
    }
    Choice const choice = choose(*session().table(), call, number, ranks);
    if (choice.agreed) {
        session().report().agree(choice.agreed_seconds);
    }
    return choice.spec;
}

template <typename Call> Line line_of(Call const &call, char const *name, int ranks, Kind ran) {
    Line line{name, algorithms()[std::size_t(ran)].name, ranks, 0, size_class(mean_bytes(call.exchange(ranks)))};
    if (State const *const state = find_state(call.comm)) {
        line.nodes = state->nodes().count();
    }
    return line;
}

/// An intracommunicator's call.
template <typename Call> int intercept_call(Call const &call, char const *name, int ranks) {
    std::int64_t const number = count_call(call.comm, has_counts<Call>);
    Spec const spec = chosen(call, number, ranks);
    std::int64_t const every = session().verify_every();
    std::optional<Exchange> exchange;
    std::optional<Verification> verification;
    if (every > 0 && number % every == 0 && ranks > 1) {
        exchange.emplace(call.exchange(ranks));
        verification.emplace(*exchange, state_of(call.comm));
    }
    double const begin = PMPI_Wtime();
    Outcome const outcome = perform(call, spec);
    Sums sums{1, PMPI_Wtime() - begin};
    std::string difference;
    if (outcome.code == MPI_SUCCESS && verification && verification->possible()) {
        difference = verification->compare();
        sums.verified = 1;
        sums.different = difference.empty() ? 0 : 1;
        sums.verified_seconds = sums.seconds;
        sums.library_seconds = verification->library_seconds();
    }
    if (session().reporting() && outcome.code == MPI_SUCCESS) {
        session().report().add(line_of(call, name, ranks, outcome.ran), sums);
    }
    return difference.empty() ? outcome.code : raise(call.comm, MPI_ERR_OTHER, difference);
}

} // namespace

template <typename Call> int intercept(Call const &call, char const *name) noexcept {
    int inter = 0, ranks = 0;
    // let the library itself refuse what is not a valid communicator
    if (!session().active() || call.comm == MPI_COMM_NULL || PMPI_Comm_test_inter(call.comm, &inter) != MPI_SUCCESS ||
        inter != 0 || PMPI_Comm_size(call.comm, &ranks) != MPI_SUCCESS) {
        try {
            return call.by_library();
        } catch (Error const &error) {
            return raise(call.comm, error.code(), error.what());
        }
    }
    try {
        return intercept_call(call, name, ranks);
    } catch (Error const &error) {
        return raise(call.comm, error.code(), error.what());
    } catch (std::exception const &error) {
        return raise(call.comm, MPI_ERR_INTERN, error.what());
    }
}

template int intercept(AlltoallCall<int> const &, char const *) noexcept;
template int intercept(AlltoallCall<MPI_Count> const &, char const *) noexcept;
template int intercept(AlltoallvCall<int, int> const &, char const *) noexcept;
template int intercept(AlltoallvCall<MPI_Count, MPI_Aint> const &, char const *) noexcept;

} // namespace weft::interpose
