// SPDX-License-Identifier: BSD-3-Clause
// A star of TCP connections to rank 0, independent of the MPI library. It exists until the first calls have been made.
#include "host/host_memory.hpp"
#include "host/platform.hpp"
#include "host/socket.hpp"
#include "mpi/back_channel.hpp"
#include "mpi/error.hpp"

#include <cstdint>
#include <fcntl.h>
#include <random>
#include <sstream>
#include <unistd.h>

namespace weft {

namespace {

constexpr std::int64_t patience_ns = 15'000'000'000;
constexpr std::int64_t look_again_ns = 2'000'000;
constexpr int most_ranks = 900; // rank 0 has a descriptor for each; 1,024 is the usual limit
constexpr char const *opened = "weft-door";

class Star : public BackChannel {
  public:
    Star(bool is_root, std::vector<Socket> others) : is_root_(is_root), others_(std::move(others)) {}

    std::vector<std::string> gather(std::string const &mine) override {
        if (!is_root_) {
            others_[0].send_text(mine);
            return {};
        }
        std::vector<std::string> all{mine};
        for (Socket const &other : others_) {
            all.push_back(other.receive_text());
        }
        return all;
    }

    std::string spread(std::string const &text) override {
        if (!is_root_) {
            return others_[0].receive_text();
        }
        for (Socket const &other : others_) {
            other.send_text(text);
        }
        return text;
    }

  private:
    bool is_root_;
    std::vector<Socket> others_; // of rank 0: of rank 1, 2 ...; else the one to rank 0
};

/// The address of rank 0, as written in the file.
struct Door {
    std::string secret;
    int port = 0;
    std::vector<std::string> addresses;
};

/// Empty until the file is complete.
Door read_door(std::string const &path) {
    std::istringstream words(read_text(path));
    std::string word;
    Door door;
    if (!(words >> word) || word != opened || !(words >> door.secret >> door.port)) {
        return {};
    }
    while (words >> word && word != "end") {
        door.addresses.push_back(word);
    }
    return word == "end" ? door : Door{};
}

/// Written in place, over shorter content: after a rename, other hosts of a shared file system may see the old file for
/// seconds.
bool write_door(std::string const &path, Door const &door) {
    std::string text = std::string(opened) + " " + door.secret + " " + std::to_string(door.port);
    for (std::string const &address : door.addresses) {
        text += " " + address;
    }
    text += " end\n";
    int const file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    bool const written = file >= 0 && ::write(file, text.data(), text.size()) == ssize_t(text.size());
    if (file >= 0) {
        ::close(file);
    }
    return written;
}

std::string drawn_secret() {
    std::random_device random;
    return std::to_string(random()) + std::to_string(random());
}

/// The rank of a peer that connects; 0 if it does not know the secret.
int rank_of(Socket &guest, std::string const &secret) {
    try {
        constexpr int greeting_ms = 1000;
        guest.set_patience(greeting_ms);
        std::istringstream words(guest.receive_text());
        guest.set_patience(-1);
        std::string told;
        int rank = 0;
        return words >> told >> rank && told == secret ? rank : 0;
    } catch (Failure const &) {
        return 0;
    }
}

/// Rank 0: accepts connections from peers that know the secret, under the rank that they send.
std::vector<Socket> let_in(Listener const &listener, std::string const &secret, int size, std::int64_t until_ns) {
    std::vector<Socket> others(std::size_t(size - 1));
    for (int missing = size - 1; missing > 0;) {
        Socket guest = listener.accept(until_ns - platform::now_ns());
        if (!guest) {
            return {};
        }
        int const rank = rank_of(guest, secret);
        if (rank > 0 && rank < size && !others[std::size_t(rank - 1)]) {
            others[std::size_t(rank - 1)] = std::move(guest);
            --missing;
        }
    }
    return others;
}

std::unique_ptr<BackChannel> open_as_root(int size, std::string const &path, bool loopback, std::int64_t until_ns) {
    Listener const listener(loopback);
    Door const door{drawn_secret(), listener.port(), listener.addresses()};
    if (listener.port() == 0 || !write_door(path, door)) {
        return nullptr;
    }
    std::vector<Socket> others = let_in(listener, door.secret, size, until_ns);
    ::unlink(path.c_str());
    if (int(others.size()) != size - 1) {
        return nullptr; // the connected ranks see their connection end
    }
    auto star = std::make_unique<Star>(true, std::move(others));
    star->spread("all are here");
    return star;
}

std::unique_ptr<BackChannel> open_as_guest(int rank, std::string const &path, std::int64_t until_ns) {
    while (platform::now_ns() < until_ns) {
        Door const door = read_door(path);
        for (std::string const &address : door.addresses) {
            Socket socket = Socket::connect(address, door.port);
            if (!socket) {
                continue;
            }
            try {
                socket.send_text(door.secret + " " + std::to_string(rank));
                if (socket.receive_text() == "all are here") {
                    std::vector<Socket> root;
                    root.push_back(std::move(socket));
                    return std::make_unique<Star>(false, std::move(root));
                }
            } catch (Failure const &) { // not rank 0, not of this launch, or a rank is missing
            }
        }
        platform::sleep_ns(look_again_ns);
    }
    return nullptr;
}

} // namespace

std::unique_ptr<BackChannel> open_back_channel(int rank, int size, std::string const &door) {
    // rank 0's file exists until all ranks have connected; a rank too late to see it already counts as missing
    std::string const kind = read_text(door);
    if (kind.empty() || size < 2 || size > most_ranks) {
        return nullptr;
    }
    std::int64_t const until_ns = platform::now_ns() + patience_ns;
    return rank == 0 ? open_as_root(size, door, kind.rfind("loopback", 0) == 0, until_ns)
                     : open_as_guest(rank, door, until_ns);
}

} // namespace weft
