// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/own_all_to_all.hpp"

#include "common/check.hpp"
#include "mpi/error.hpp"

#include "../../alltoall/choice.hpp"
#include "../../alltoall/error.hpp"
#include "../../alltoall/state.hpp"
#include "../../alltoall/texts.hpp"

#include <stdexcept>
#include <utility>

namespace weft {

namespace {

/// By one algorithm, or by a table.
class Chosen final : public OwnAllToAll {
  public:
    explicit Chosen(alltoall::Spec spec) : spec_(std::make_unique<alltoall::Spec const>(std::move(spec))) {}
    explicit Chosen(std::string_view table) : table_(std::make_unique<alltoall::Table const>(table)) {}

    int calls_to_learn() const noexcept override {
        return spec_ != nullptr && spec_->kind == alltoall::Kind::sched_matrix ? 2 : 0;
    }
    bool perform(alltoall::AlltoallCall<int> const &call, std::int64_t &calls) const override {
        return make(call, calls);
    }
    bool perform(alltoall::AlltoallvCall<int, int> const &call, std::int64_t &calls) const override {
        return make(call, calls);
    }
    bool perform(alltoall::AlltoallCall<MPI_Count> const &call, std::int64_t &calls) const override {
        return make(call, calls);
    }
    bool perform(alltoall::AlltoallvCall<MPI_Count, MPI_Aint> const &call, std::int64_t &calls) const override {
        return make(call, calls);
    }

  private:
    template <class Call> alltoall::Spec const &spec_of(Call const &call, std::int64_t &calls) const {
        if (table_ == nullptr) {
            return *spec_;
        }
        int ranks = 1;
        check(PMPI_Comm_size(call.comm, &ranks), "MPI_Comm_size");
        return *alltoall::choose(*table_, call, ++calls, ranks, rules_).spec;
    }

    template <class Call> bool make(Call const &call, std::int64_t &calls) const {
        alltoall::Spec const &spec = spec_of(call, calls);
        if (spec.kind == alltoall::Kind::pmpi) {
            return false;
        }
        if (spec.kind == alltoall::Kind::sched_matrix && std::exchange(calls, calls + 1) == 1) {
            if (alltoall::State *const state = alltoall::find_state(call.comm); state != nullptr) {
                state->uneven.due = 0; // of another size: compare counts now
            }
        }
        alltoall::Outcome const outcome = alltoall::perform(call, spec);
        check(outcome.code, "an all-to-all of native/alltoall");
        last_algorithm() = alltoall::algorithms()[std::size_t(outcome.ran)].name;
        return true;
    }

    std::unique_ptr<alltoall::Spec const> spec_; // null: by the table
    std::unique_ptr<alltoall::Table const> table_;
    mutable alltoall::OwnRules rules_; // of the table, for the communicator of all calls
};

} // namespace

std::shared_ptr<OwnAllToAll const> own_by_spec(std::string_view spec) {
    try {
        return std::make_shared<Chosen const>(alltoall::parse_spec(spec));
    } catch (std::runtime_error const &error) {
        throw Failure(error.what(), "change algorithm in the study", true);
    }
}

std::shared_ptr<OwnAllToAll const> own_by_table(std::string const &path) {
    try {
        return std::make_shared<Chosen const>(
            alltoall::file_text(path, "the selection table", alltoall::most_table_bytes));
    } catch (alltoall::Error const &error) {
        bool const everywhere = error.code() != MPI_ERR_FILE; // a file may be there for some hosts only
        throw Failure(path + ": " + error.what(), "name a table that weft tune wrote", everywhere);
    }
}

} // namespace weft
