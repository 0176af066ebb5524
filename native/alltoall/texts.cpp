// SPDX-License-Identifier: BSD-3-Clause
#include "texts.hpp"

#include "error.hpp"

#include <filesystem>
#include <fstream>

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
        throw Error(MPI_ERR_FILE,
                    "weft: rank 0 cannot read " + what + " " + shown(path) + " -> name a file it can read");
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

} // namespace weft::alltoall
