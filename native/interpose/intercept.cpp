// SPDX-License-Identifier: BSD-3-Clause
#include "intercept.hpp"

#include "choice.hpp"
#include "error.hpp"
#include "session.hpp"
#include "state.hpp"
#include "verify.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <vector>

namespace weft::interpose {

namespace {

using namespace weft::alltoall;

/// What is kept of an intracommunicator: its ranks, calls so far, of MPI_Alltoall and of MPI_Alltoallv, and the table's
/// rules for it.
struct Kept {
    int ranks = 0;
    std::array<std::int64_t, 2> calls{};
    OwnRules rules;
    std::array<bool, 2> left{}; // to the library for good, uncounted
};

/// Communicators freed so far: the handle of one may then be another's.
std::atomic<std::uint64_t> freed{0};

int kept_key() {
    static int key = [] {
        int made = MPI_KEYVAL_INVALID;
        auto const free_kept = [](MPI_Comm, int, void *value, void *) {
            delete static_cast<Kept *>(value);
            ++freed;
            return MPI_SUCCESS;
        };
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, +free_kept, &made, nullptr);
        return made;
    }();
    return key;
}

/// The communicator of a thread's last call: most calls are on the one of the call before.
struct Last {
    MPI_Comm comm{};
    Kept *kept = nullptr;
    std::uint64_t freed = 0;

    Kept *of(MPI_Comm other) const noexcept { return other == comm && freed == interpose::freed ? kept : nullptr; }
};

#if defined(__GNUC__)
[[gnu::tls_model("initial-exec")]] // found without a call
#endif
thread_local constinit Last last;

/// Whether some members are of another MPI_COMM_WORLD (spawned, connected): they may not have this library, and ranks
/// of one call must not differ in who makes it. Every member sees strangers, or none does.
bool has_strangers(MPI_Comm comm, int ranks) {
    MPI_Group members = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    check(PMPI_Comm_group(comm, &members), "MPI_Comm_group");
    check(PMPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    std::vector<int> own(std::size_t(ranks), 0), there(std::size_t(ranks), MPI_UNDEFINED);
    std::iota(own.begin(), own.end(), 0);
    int const code = PMPI_Group_translate_ranks(members, ranks, own.data(), world, there.data());
    PMPI_Group_free(&members);
    PMPI_Group_free(&world);
    check(code, "MPI_Group_translate_ranks");
    return std::find(there.begin(), there.end(), MPI_UNDEFINED) != there.end();
}

/// Null for what is no valid intracommunicator.
Kept *kept_of(MPI_Comm comm) {
    if (Kept *const known = last.of(comm)) {
        return known;
    }
    std::uint64_t const before = freed; // what is freed meanwhile is asked for again
    int inter = 0, ranks = 0, found = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0 ||
        PMPI_Comm_size(comm, &ranks) != MPI_SUCCESS) {
        return nullptr;
    }
    void *value = nullptr;
    check(PMPI_Comm_get_attr(comm, kept_key(), &value, &found), "MPI_Comm_get_attr");
    if (found == 0) {
        bool const theirs = has_strangers(comm, ranks);
        value = new Kept{ranks, {}, {}, {theirs, theirs}};
        check(PMPI_Comm_set_attr(comm, kept_key(), value), "MPI_Comm_set_attr");
    }
    last = {comm, static_cast<Kept *>(value), before};
    return last.kept;
}

/// `number`: of this call among those of its kind on the communicator, from 1: the same on all its ranks, since
/// collective calls are in order.
/// `is_first`: no other call was made on the communicator, which may live for this one alone. To set an algorithm up
/// takes fifty times as long as such a call, so it is the library's.
template <typename Call>
Spec const &chosen(Session &own, Call const &call, std::int64_t number, bool is_first, int ranks, OwnRules &rules) {
    if (own.forced()) {
        return is_first && call.comm != MPI_COMM_WORLD ? library_own : *own.forced();
    }
    if (!own.table()) {
        return library_own;
    }
    Choice const choice = choose(*own.table(), call, number, ranks, rules);
    if (choice.agreed) {
        own.report().agree(choice.agreed_seconds);
    }
    return *choice.spec;
}

template <typename Call> Line line_of(Call const &call, char const *name, int ranks, Kind ran) {
    Line line{name, algorithms()[std::size_t(ran)].name, ranks, 0, size_class(mean_bytes(call, ranks))};
    if (State const *const state = find_state(call.comm)) {
        line.nodes = state->nodes().count();
    }
    return line;
}

/// Makes a call that is to be verified, counted or both.
template <typename Call>
int noted_call(Session &own, Call const &call, char const *name, int ranks, Spec const &spec, bool verified) {
    std::optional<Exchange> exchange;
    std::optional<Verification> verification;
    if (verified) {
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
    if (own.reporting() && outcome.code == MPI_SUCCESS) {
        own.report().add(line_of(call, name, ranks, outcome.ran), sums);
    }
    return difference.empty() ? outcome.code : raise(call.comm, MPI_ERR_OTHER, difference);
}

/// An intracommunicator's call.
template <typename Call> int intercept_call(Call const &call, char const *name, Kept &kept) {
    Session &own = session();
    int const ranks = kept.ranks;
    std::size_t const kind = has_counts<Call> ? 1 : 0;
    std::int64_t const number = ++kept.calls[kind];
    bool const is_first = kept.calls[0] + kept.calls[1] == 1;
    Spec const &spec = chosen(own, call, number, is_first, ranks, kept.rules);
    std::int64_t const every = own.verify_every();
    bool const verified = every > 0 && number % every == 0 && ranks > 1;
    if (verified || own.reporting()) {
        return noted_call(own, call, name, ranks, spec, verified);
    }
    kept.left[kind] = every == 0 && kept.rules.of[kind] && kept.rules.of[kind]->leave_all();
    return perform(call, spec).code;
}

} // namespace

template <typename Call> int intercept(Call const &call, char const *name) noexcept {
    try {
        // What is done up to here, each call pays: one of a few bytes within a node lasts 0.2 us.
        if (Kept const *const known = last.of(call.comm); known != nullptr && known->left[has_counts<Call> ? 1 : 0]) {
            return call.by_library();
        }
        Kept *const kept = session().active() ? kept_of(call.comm) : nullptr;
        // let the library itself refuse what is no valid communicator or argument
        bool const left = kept == nullptr || kept->left[has_counts<Call> ? 1 : 0] || is_refused(call, kept->ranks);
        return left ? call.by_library() : intercept_call(call, name, *kept);
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
