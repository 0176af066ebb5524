// SPDX-License-Identifier: BSD-3-Clause
#include "call.hpp"

#include "algorithms.hpp"
#include "hooks.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <optional>
#include <type_traits>

namespace weft::alltoall {

namespace {

template <typename Number> std::vector<std::int64_t> wide(Number const *numbers, int ranks) {
    return std::vector<std::int64_t>(numbers, numbers + ranks);
}

void refuse_negative(std::int64_t count) {
    if (count < 0) {
        throw Error(MPI_ERR_COUNT, "weft: a count is " + std::to_string(count) + " -> counts are zero or more");
    }
}

template <typename Count, typename Displacement>
Side side_of(void *buffer, Count const *counts, Displacement const *displacements, MPI_Datatype type, int ranks) {
    bool used = false;
    for (int rank = 0; rank < ranks; ++rank) {
        refuse_negative(counts[rank]);
        used = used || counts[rank] != 0;
    }
    return Side(buffer, wide(counts, ranks), wide(displacements, ranks), Layout::of(type, used));
}

Side side_of(void *buffer, std::int64_t count, MPI_Datatype type, int ranks) {
    refuse_negative(count);
    return Side(buffer, count, Layout::of(type, count != 0), ranks);
}

int narrow(std::int64_t number) {
    if (number > INT_MAX || number < INT_MIN) {
        throw Error(MPI_ERR_COUNT, "weft: this MPI library takes no count or displacement of " +
                                       std::to_string(number) +
                                       " -> use the algorithm flat.window, or an MPI 4 library");
    }
    return int(number);
}

[[maybe_unused]] std::vector<int> narrow(std::vector<std::int64_t> const &numbers) {
    std::vector<int> made;
    for (std::int64_t const number : numbers) {
        made.push_back(narrow(number));
    }
    return made;
}

} // namespace

template <typename Count> Exchange AlltoallCall<Count>::exchange(int ranks) const {
    Exchange made;
    made.in_place = send_buffer == MPI_IN_PLACE;
    made.receive = side_of(receive_buffer, std::int64_t(receive_count), receive_type, ranks);
    made.send = made.in_place ? made.receive
                              : side_of(const_cast<void *>(send_buffer), std::int64_t(send_count), send_type, ranks);
    return made;
}

template <typename Count> int AlltoallCall<Count>::by_library() const {
    bool const in_place = send_buffer == MPI_IN_PLACE; // then the send arguments are ignored
#if MPI_VERSION >= 4
    if constexpr (!std::is_same_v<Count, int>) {
        return PMPI_Alltoall_c(send_buffer, in_place ? 0 : send_count, send_type, receive_buffer, receive_count,
                               receive_type, comm);
    }
#endif
    return PMPI_Alltoall(send_buffer, in_place ? 0 : narrow(send_count), send_type, receive_buffer,
                         narrow(receive_count), receive_type, comm);
}

template <typename Count, typename Displacement>
Exchange AlltoallvCall<Count, Displacement>::exchange(int ranks) const {
    Exchange made;
    made.in_place = send_buffer == MPI_IN_PLACE;
    made.receive = side_of(receive_buffer, receive_counts, receive_displacements, receive_type, ranks);
    made.send = made.in_place
                    ? made.receive
                    : side_of(const_cast<void *>(send_buffer), send_counts, send_displacements, send_type, ranks);
    return made;
}

template <typename Count, typename Displacement> int AlltoallvCall<Count, Displacement>::by_library() const {
    if constexpr (std::is_same_v<Count, int>) {
        return PMPI_Alltoallv(send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_counts,
                              receive_displacements, receive_type, comm);
    } else {
#if MPI_VERSION >= 4
        return PMPI_Alltoallv_c(send_buffer, send_counts, send_displacements, send_type, receive_buffer, receive_counts,
                                receive_displacements, receive_type, comm);
#else
        int ranks = 0;
        int inter = 0;
        check(PMPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
        check(inter ? PMPI_Comm_remote_size(comm, &ranks) : PMPI_Comm_size(comm, &ranks), "MPI_Comm_size");
        bool const in_place = send_buffer == MPI_IN_PLACE;
        auto const numbers = [&](auto const *from, bool used) {
            return used ? narrow(wide(from, ranks)) : std::vector<int>(std::size_t(ranks));
        };
        auto const sends = numbers(send_counts, !in_place), send_at = numbers(send_displacements, !in_place);
        auto const receives = numbers(receive_counts, true), receive_at = numbers(receive_displacements, true);
        return PMPI_Alltoallv(send_buffer, sends.data(), send_at.data(), send_type, receive_buffer, receives.data(),
                              receive_at.data(), receive_type, comm);
#endif
    }
}

namespace {

/// Makes the call that an MPI_Alltoallv makes to itself with the library, which finds a block that is too long.
void send_to_self(Exchange const &exchange, State const &state) {
    int const me = state.rank();
    Message const out = block_of(exchange.send, me), in = block_of(exchange.receive, me);
    check(PMPI_Sendrecv(out.address, narrow(out.count), out.type, me, tag_entry, in.address, narrow(in.count), in.type,
                        me, tag_entry, state.comm(), MPI_STATUS_IGNORE),
          "MPI_Sendrecv of this rank's own block");
}

/// Runs an algorithm of Weft's on arguments of which only lengths may be wrong.
template <typename Call> Kind run_checked(Call const &call, Spec const &spec, State &state) {
    int const me = state.rank();
    Exchange exchange = call.exchange(state.nodes().ranks());
    std::optional<PackedCopy> copy; // libraries that do not refuse it read and write one buffer
    bool const is_one = call.send_buffer == call.receive_buffer && call.send_buffer != MPI_BOTTOM;
    if (!exchange.in_place && (is_one || exchange.send.address(me) == exchange.receive.address(me))) {
        exchange.send = copy.emplace(exchange.send, state.comm()).side();
    }
    if (exchange.send.bytes(me) == exchange.receive.bytes(me)) {
        return run(spec, exchange, state);
    }
    if constexpr (has_counts<Call>) { // no other rank has a part in it
        Exchange others = exchange;
        others.send.drop(me);
        others.receive.drop(me);
        Kind const ran = run(spec, others, state);
        if (ran != Kind::pmpi) {
            send_to_self(exchange, state);
        }
        return ran;
    } else {
        throw Refused();
    }
}

template <typename Call> Kind run_or_refuse(Call const &call, Spec const &spec, State &state) {
    state.barrier().begin_call();
    try {
        Kind const ran = run_checked(call, spec, state);
        at_step("end");
        return ran;
    } catch (Refused const &) {
        state.refuse();
        return Kind::pmpi;
    }
}

} // namespace

template <typename Call> Outcome perform(Call const &call, Spec const &spec) noexcept {
    State *state = nullptr;
    auto const failed = [&](int code, char const *what) {
        if (state != nullptr) {
            state->keep_for_good();
        }
        return Outcome{raise(call.comm, code, what), spec.kind};
    };
    try {
        int inter = 0, ranks = 1;
        if (spec.kind != Kind::pmpi) {
            check(PMPI_Comm_test_inter(call.comm, &inter), "MPI_Comm_test_inter");
            check(PMPI_Comm_size(call.comm, &ranks), "MPI_Comm_size");
        }
        if (inter == 0 && ranks > 1) {
            state = &state_of(call.comm);
            if (Kind const ran = state->is_left() ? Kind::pmpi : run_or_refuse(call, spec, *state); ran != Kind::pmpi) {
                last_ran() = ran;
                return {MPI_SUCCESS, ran};
            }
        }
        last_ran() = Kind::pmpi;
        return {call.by_library(), Kind::pmpi}; // which raises its own errors
    } catch (Error const &error) {
        return failed(error.code(), error.what());
    } catch (std::bad_alloc const &) {
        return failed(MPI_ERR_NO_MEM, "weft: no memory for an all-to-all -> use smaller blocks");
    } catch (std::exception const &error) {
        return failed(MPI_ERR_INTERN, error.what());
    }
}

int raise(MPI_Comm comm, int code, std::string const &what) noexcept {
    last_error() = what;
    // a new code of its class with our text, which a handler that prints errors will print
    int error_class = MPI_ERR_OTHER, own = MPI_ERR_OTHER;
    PMPI_Error_class(code, &error_class);
    if (PMPI_Add_error_code(error_class, &own) == MPI_SUCCESS) {
        std::string text = what.substr(0, MPI_MAX_ERROR_STRING - 1);
        PMPI_Add_error_string(own, text.data());
        code = own;
    }
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

std::string &last_error() noexcept {
    thread_local std::string text;
    return text;
}

Kind &last_ran() noexcept {
    thread_local Kind kind = Kind::pmpi;
    return kind;
}

template struct AlltoallCall<int>;
template struct AlltoallCall<MPI_Count>;
template struct AlltoallvCall<int, int>;
template struct AlltoallvCall<MPI_Count, MPI_Aint>;
template Outcome perform(AlltoallCall<int> const &, Spec const &) noexcept;
template Outcome perform(AlltoallCall<MPI_Count> const &, Spec const &) noexcept;
template Outcome perform(AlltoallvCall<int, int> const &, Spec const &) noexcept;
template Outcome perform(AlltoallvCall<MPI_Count, MPI_Aint> const &, Spec const &) noexcept;

} // namespace weft::alltoall
