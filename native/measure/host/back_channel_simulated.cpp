// SPDX-License-Identifier: BSD-3-Clause
// All simulated ranks are threads of one process: they share memory and wait for each other in the simulator, which
// takes no simulated time and opens no connection.
#include "mpi/back_channel.hpp"

#include "common/check.hpp"

#include <simgrid/s4u.hpp>

#include <string_view>

namespace weft {

namespace {

/// What the ranks share. The first to come makes it; it lasts as long as one of them has the channel.
struct Meeting {
    explicit Meeting(int size) : all(simgrid::s4u::Barrier::create(unsigned(size))), texts(std::size_t(size)) {}

    simgrid::s4u::BarrierPtr all;
    std::vector<std::string> texts;
    std::string spread;
};

std::shared_ptr<Meeting> meeting_of(int size) {
    static std::weak_ptr<Meeting> present;
    std::shared_ptr<Meeting> found = present.lock();
    if (!found) {
        found = std::make_shared<Meeting>(size);
        present = found;
    }
    return found;
}

class SimulatedChannel : public BackChannel {
  public:
    SimulatedChannel(int rank, int size) : rank_(rank), meeting_(meeting_of(size)) {}

    std::vector<std::string> gather(std::string const &mine) override {
        meeting_->texts[std::size_t(rank_)] = mine;
        meeting_->all->wait();
        std::vector<std::string> found;
        if (rank_ == 0) {
            found = meeting_->texts;
        }
        meeting_->all->wait(); // nobody writes the next text before rank 0 has read this one
        return found;
    }

    std::string spread(std::string const &text) override {
        if (rank_ == 0) {
            meeting_->spread = text;
        }
        meeting_->all->wait();
        std::string found = meeting_->spread;
        meeting_->all->wait();
        return found;
    }

  private:
    int rank_;
    std::shared_ptr<Meeting> meeting_;
};

/// The traffic of the library's start-up, if the fabric says that there is some: before anything is timed.
void start_up() {
    auto const *const traffic = simgrid::s4u::this_actor::get_host()->get_property("start-up");
    if (traffic != nullptr && std::string_view(traffic) == "barrier") {
        check(PMPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier of the start-up");
    }
}

} // namespace

std::unique_ptr<BackChannel> open_back_channel(int rank, int size, std::string const &) {
    start_up();
    return std::make_unique<SimulatedChannel>(rank, size);
}

} // namespace weft
