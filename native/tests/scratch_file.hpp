// SPDX-License-Identifier: BSD-3-Clause
// A file that its test's object removes, and the bytes of a .npy file of keys.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

class ScratchFile {
  public:
    explicit ScratchFile(std::string_view contents) {
        char name[] = "/tmp/weft-scratch-XXXXXX";
        ::close(::mkstemp(name));
        path_ = name;
        std::ofstream(path_, std::ios::binary) << contents;
    }
    ~ScratchFile() { ::unlink(path_.c_str()); }
    ScratchFile(ScratchFile const &) = delete;
    ScratchFile &operator=(ScratchFile const &) = delete;
    [[nodiscard]] std::string const &path() const { return path_; }

  private:
    std::string path_;
};

/// A .npy file with this dictionary and this data, byte for byte as numpy.save lays it out.
inline std::string npy_bytes(std::string dictionary, std::string_view data, int version = 1) {
    std::size_t const prefix = version == 1 ? 10 : 12;
    while ((prefix + dictionary.size() + 1) % 64 != 0)
        dictionary.push_back(' ');
    dictionary.push_back('\n');
    std::string bytes = "\x93NUMPY";
    bytes.push_back(static_cast<char>(version));
    bytes.push_back('\0');
    for (std::size_t i = 0; i < prefix - 8; ++i)
        bytes.push_back(static_cast<char>(dictionary.size() >> (8 * i) & 0xff));
    return bytes + dictionary + std::string(data);
}

inline std::string npy_bytes(std::vector<double> const &keys, int version = 1) {
    return npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(keys.size()) + ",), }",
                     {reinterpret_cast<char const *>(keys.data()), keys.size() * sizeof(double)}, version);
}
