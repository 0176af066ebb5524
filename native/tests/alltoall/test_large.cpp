// SPDX-License-Identifier: BSD-3-Clause
// Counts beyond 2^31: one block of over 2 GiB, in memory that is mapped at many addresses.
#include "oracle.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::int64_t piece = std::int64_t(1) << 20;
constexpr std::int64_t length = (std::int64_t(1) << 31) + 5 * piece;

/// A range of addresses over one MiB of memory: the last write to each byte of the MiB remains.
class Aliased {
  public:
    Aliased() {
        int const file = memfd_create("weft-large", 0);
        REQUIRE(ftruncate(file, piece) == 0);
        base = static_cast<unsigned char *>(
            mmap(nullptr, std::size_t(length), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        for (std::int64_t at = 0; at < length; at += piece) {
            mmap(base + at, std::size_t(piece), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
        }
        close(file);
    }
    Aliased(Aliased const &) = delete;
    Aliased &operator=(Aliased const &) = delete;
    ~Aliased() { munmap(base, std::size_t(length)); }

    unsigned char *base;
};

} // namespace

TEST_CASE("a block of more than 2^31 bytes arrives whole, beside small ones") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    Aliased const send, receive;
    for (std::int64_t i = 0; i < piece; ++i) {
        send.base[i] = oracle::value(0, 1, i);
    }
    for (char const *spec : {"flat.window", "bruck", "node.multi", "node.direct", "sched.matrix"}) {
        CAPTURE(spec);
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        std::fill(receive.base, receive.base + piece, static_cast<unsigned char>(0));
        // rank 0 sends all of it to rank 1, and eight bytes to itself; rank 1 sends eight to rank 0, and none to itself
        bool const sender = ranks.me == 0;
        std::vector<unsigned char> small(64);
        small[0] = 77;
        std::vector<MPI_Count> const sends = sender ? std::vector<MPI_Count>{8, length} : std::vector<MPI_Count>{8, 0};
        std::vector<MPI_Count> const receives =
            sender ? std::vector<MPI_Count>{8, 8} : std::vector<MPI_Count>{length, 0};
        std::vector<MPI_Aint> const places = {sender ? 16 : 0, 0}, received = {0, sender ? 8 : 0};
        CHECK(weft_alltoallv(spec, sender ? send.base : small.data(), sends.data(), places.data(), MPI_BYTE,
                             sender ? small.data() : receive.base, receives.data(), received.data(), MPI_BYTE,
                             placed.comm) == MPI_SUCCESS);
        if (sender) {
            CHECK(std::equal(small.begin(), small.begin() + 8, send.base + 16));
            CHECK(small[8] == 77);
        } else {
            CHECK(std::equal(receive.base, receive.base + piece, send.base));
        }
    }
}
