// SPDX-License-Identifier: BSD-3-Clause
#include "texts.hpp"

#include "error.hpp"

#include <filesystem>
#include <fstream>
#include <utility>

namespace weft::alltoall {

std::string shown(std::string_view text) {
    constexpr std::size_t most = 80;
    std::string made = "\"";
    for (char const each : text.substr(0, most)) {
        bool const prints = static_cast<unsigned char>(each) >= 0x20 && each != 0x7f;
        made += prints ? each : '?';
    }
    return made + (text.size() > most ? "...\"" : "\"");
}

std::string file_text(std::string const &path, std::string const &what, std::int64_t most) {
    std::error_code none;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, none)) {
        throw Error(MPI_ERR_FILE, "weft: cannot read " + what + " " + shown(path) + " -> name a readable file");
    }
    // not by the file's size: a pipe has none, and a device says nothing of its own
    std::string text, piece(std::size_t(1) << 16, 0);
    while (file.read(piece.data(), std::streamsize(piece.size())), file.gcount() > 0) {
        text.append(piece, 0, std::size_t(file.gcount()));
        if (std::int64_t(text.size()) > most) {
            throw Error(MPI_ERR_FILE, "weft: " + what + " " + shown(path) + " has more than " +
                                          std::to_string(most >> 20) + " MiB -> name a smaller file");
        }
    }
    return text;
}

std::string broadcast(std::string text, MPI_Comm comm) {
    std::int64_t size = std::int64_t(text.size());
    check(PMPI_Bcast(&size, 1, MPI_INT64_T, 0, comm), "MPI_Bcast of a length");
    text.resize(std::size_t(size));
    check(PMPI_Bcast(text.data(), int(size), MPI_CHAR, 0, comm), "MPI_Bcast of a text");
    return text;
}

std::string broadcast_file(std::string const &path, std::string const &what, std::int64_t most, MPI_Comm comm) {
    int rank = 0;
    check(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    std::string text; // "+" and the content, or "-" and why there is none
    if (rank == 0) {
        try {
            text = "+" + file_text(path, what, most);
        } catch (Error const &error) {
            text = "-" + std::string(error.what()) + " on the host of rank 0";
        }
    }
    text = broadcast(std::move(text), comm);
    if (text.front() != '+') {
        throw Error(MPI_ERR_FILE, text.substr(1));
    }
    text.erase(0, 1);
    return text;
}

} // namespace weft::alltoall
