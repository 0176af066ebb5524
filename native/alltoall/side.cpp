// SPDX-License-Identifier: BSD-3-Clause
#include "side.hpp"

#include "common/comm.hpp"
#include "error.hpp"
#include "hooks.hpp"
#include "platform.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

namespace weft::alltoall {

namespace {

constexpr std::int64_t largest_pack_bytes = std::int64_t(1) << 30; // MPI_Pack has int counts

/// MPI_Pack or MPI_Unpack of `count` elements, in pieces that an int can count.
template <typename Call> void in_pieces(Layout const &layout, std::int64_t count, Call call) {
    if (layout.size > largest_pack_bytes) {
        throw Error(MPI_ERR_TYPE, "weft: one element of a datatype with gaps has " + std::to_string(layout.size) +
                                      " bytes -> use smaller elements, or the algorithm flat.window");
    }
    std::int64_t const most = largest_pack_bytes / layout.size;
    for (std::int64_t first = 0; first < count; first += most) {
        call(first, int(std::min(most, count - first)));
    }
}

/// The same elements from an address that is not null: MPICH before 4.1 refuses MPI_BOTTOM in MPI_Pack and MPI_Unpack.
class Anchored {
  public:
    Anchored(std::byte const *address, Layout const &layout) : address(address), type(layout.type) {
        if (address == nullptr) {
            int const one = 1;
            MPI_Aint const back = -MPI_Aint(layout.begin);
            own_ = Datatype::at({&one, 1}, {&back, 1}, layout.type);
            this->address = reinterpret_cast<std::byte const *>(std::uintptr_t(layout.begin));
            type = own_;
        }
    }

    std::byte const *address;
    MPI_Datatype type;

  private:
    Datatype own_;
};

void pack_elements(Layout const &layout, std::byte const *from, std::int64_t count, std::byte *to, MPI_Comm comm) {
    in_pieces(layout, count, [&](std::int64_t first, int some) {
        int position = 0;
        int const room = int(some * layout.size);
        Anchored const in(from + first * layout.extent, layout);
        check(PMPI_Pack(in.address, some, in.type, to + first * layout.size, room, &position, comm), "MPI_Pack");
        if (position != room) {
            throw Error(MPI_ERR_TYPE, "weft: MPI_Pack made " + std::to_string(position) + " bytes of " +
                                          std::to_string(room) + " -> use the algorithm pmpi with this datatype");
        }
    });
}

void unpack_elements(Layout const &layout, std::byte const *from, std::int64_t count, std::byte *to, MPI_Comm comm) {
    in_pieces(layout, count, [&](std::int64_t first, int some) {
        int position = 0;
        int const room = int(some * layout.size);
        Anchored const out(to + first * layout.extent, layout);
        auto *const place = const_cast<std::byte *>(out.address);
        check(PMPI_Unpack(from + first * layout.size, room, &position, place, some, out.type, comm), "MPI_Unpack");
    });
}

/// Bytes [first, first + length) of packed elements: the whole elements in it, and a part of one at either end.
struct Elements {
    Elements(std::int64_t first, std::int64_t length, std::int64_t size)
        : head_element(first / size), head_skip(first % size),
          head_bytes(head_skip == 0 ? 0 : std::min(length, size - head_skip)), whole_first((first + head_bytes) / size),
          whole_count((length - head_bytes) / size), tail_bytes(length - head_bytes - whole_count * size) {}

    std::int64_t head_element;
    std::int64_t head_skip;
    std::int64_t head_bytes;
    std::int64_t whole_first;
    std::int64_t whole_count;
    std::int64_t tail_bytes;
};

} // namespace

Side::Side(void *base, std::int64_t count, Layout layout, int ranks)
    : base_(base), layout_(layout), ranks_(ranks), count_(count) {}

Side::Side(void *base, std::vector<std::int64_t> counts, std::vector<std::int64_t> displacements, Layout layout)
    : base_(base), layout_(layout), ranks_(int(counts.size())), counts_(std::move(counts)),
      displacements_(std::move(displacements)) {}

std::int64_t Side::total_bytes() const {
    std::int64_t sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
        sum += bytes(rank);
    }
    return sum;
}

std::byte *Side::element(int rank, std::int64_t index) const {
    std::int64_t const first = uniform() ? count_ * rank : displacements_[std::size_t(rank)];
    // with integers: the base may be MPI_BOTTOM, and adding to a null pointer is undefined
    auto const place = reinterpret_cast<std::uintptr_t>(base_) + std::uintptr_t((first + index) * layout_.extent);
    return reinterpret_cast<std::byte *>(place);
}

void Side::pack(int rank, std::int64_t first, std::int64_t length, std::byte *to, MPI_Comm comm) const {
    if (length == 0) {
        return;
    }
    at_step("pack");
    if (layout_.dense) {
        platform::copy(to, address(rank) + first, std::size_t(length));
        return;
    }
    Elements const slice(first, length, layout_.size);
    std::vector<std::byte> part;
    auto const pack_part = [&](std::int64_t index, std::int64_t skip, std::int64_t bytes) {
        if (bytes != 0) {
            part.resize(std::size_t(layout_.size));
            pack_elements(layout_, element(rank, index), 1, part.data(), comm);
            std::memcpy(to, part.data() + skip, std::size_t(bytes));
            to += bytes;
        }
    };
    pack_part(slice.head_element, slice.head_skip, slice.head_bytes);
    pack_elements(layout_, element(rank, slice.whole_first), slice.whole_count, to, comm);
    to += slice.whole_count * layout_.size;
    pack_part(slice.whole_first + slice.whole_count, 0, slice.tail_bytes);
}

void Side::unpack(int rank, std::int64_t first, std::int64_t length, std::byte const *from, MPI_Comm comm) const {
    if (length == 0) {
        return;
    }
    at_step("unpack");
    if (layout_.dense) {
        platform::copy(address(rank) + first, from, std::size_t(length));
        return;
    }
    Elements const slice(first, length, layout_.size);
    std::vector<std::byte> part;
    auto const unpack_part = [&](std::int64_t index, std::int64_t skip, std::int64_t bytes) {
        if (bytes != 0) {
            part.resize(std::size_t(layout_.size)); // the present element, with a part of it replaced
            pack_elements(layout_, element(rank, index), 1, part.data(), comm);
            std::memcpy(part.data() + skip, from, std::size_t(bytes));
            unpack_elements(layout_, part.data(), 1, element(rank, index), comm);
            from += bytes;
        }
    };
    unpack_part(slice.head_element, slice.head_skip, slice.head_bytes);
    unpack_elements(layout_, from, slice.whole_count, element(rank, slice.whole_first), comm);
    from += slice.whole_count * layout_.size;
    unpack_part(slice.whole_first + slice.whole_count, 0, slice.tail_bytes);
}

void copy_own_block(Exchange const &exchange, int rank, MPI_Comm comm) {
    std::int64_t const bytes = exchange.send.bytes(rank);
    if (exchange.in_place || bytes == 0) {
        return;
    }
    if (exchange.receive.layout().dense) {
        exchange.send.pack(rank, 0, bytes, exchange.receive.address(rank), comm);
    } else if (exchange.send.layout().dense) {
        exchange.receive.unpack(rank, 0, bytes, exchange.send.address(rank), comm);
    } else {
        // whole elements of the receive type per piece: an element in parts would be packed again for each part
        std::int64_t const size = exchange.receive.layout().size;
        std::int64_t const piece = std::max(size, (std::int64_t(1) << 20) / size * size);
        std::vector<std::byte> scratch(std::size_t(std::min(piece, bytes)));
        for (std::int64_t first = 0; first < bytes; first += piece) {
            std::int64_t const some = std::min(piece, bytes - first);
            exchange.send.pack(rank, first, some, scratch.data(), comm);
            exchange.receive.unpack(rank, first, some, scratch.data(), comm);
        }
    }
}

std::int64_t largest_block(Exchange const &exchange, MPI_Comm comm) {
    if (exchange.uniform()) {
        return exchange.receive.bytes(0);
    }
    std::int64_t largest = 0;
    for (int rank = 0; rank < exchange.send.ranks(); ++rank) {
        largest = std::max(largest, exchange.send.bytes(rank));
    }
    check(PMPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, comm), "MPI_Allreduce of the largest block");
    return largest;
}

PackedCopy::PackedCopy(Side const &side, MPI_Comm comm) : bytes_(std::size_t(side.total_bytes())) {
    std::vector<std::int64_t> counts, displacements;
    std::int64_t sum = 0;
    for (int rank = 0; rank < side.ranks(); ++rank) {
        std::int64_t const bytes = side.bytes(rank);
        side.pack(rank, 0, bytes, bytes_.data() + sum, comm);
        counts.push_back(bytes);
        displacements.push_back(sum);
        sum += bytes;
    }
    Layout bytes_layout{MPI_BYTE, 1, 1, true};
    if (side.uniform()) {
        side_ = Side(bytes_.data(), side.bytes(0), bytes_layout, side.ranks());
        return;
    }
    side_ = Side(bytes_.data(), std::move(counts), std::move(displacements), bytes_layout);
}

} // namespace weft::alltoall
