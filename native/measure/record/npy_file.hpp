// SPDX-License-Identifier: BSD-3-Clause
// A NumPy .npy file of float64 keys, read in parts. Supports only one-dimensional arrays of little-endian doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// An error of a key file; what() is one sentence with the value seen and what to do.
struct KeyFileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct NpyHeader {
    std::uint64_t data_offset = 0; ///< bytes before the first element
    std::uint64_t count = 0;       ///< elements of the one dimension
};

/// The most bytes that parse_npy_header needs.
inline constexpr std::size_t npy_header_most = 65536;

/// Reads the header from the beginning of a file. Throws KeyFileError (without the file's name) on anything but a
/// version 1 or 2 header of a one-dimensional little-endian float64 array.
[[nodiscard]] NpyHeader parse_npy_header(std::span<std::byte const> beginning);

/// An open key file; the destructor closes it.
class NpyFile {
  public:
    /// Opens the file, and checks its header and that it has as many bytes as the header states.
    explicit NpyFile(std::string path);
    ~NpyFile();
    NpyFile(NpyFile const &) = delete;
    NpyFile &operator=(NpyFile const &) = delete;

    [[nodiscard]] std::uint64_t count() const { return header_.count; }
    [[nodiscard]] std::string const &path() const { return path_; }
    /// Reads elements [first, first + out.size()). Throws KeyFileError if they cannot be read.
    void read(std::uint64_t first, std::span<double> out) const;

  private:
    [[nodiscard]] std::size_t read_bytes(std::uint64_t offset, std::span<std::byte> out) const;
    [[noreturn]] void refuse(std::string const &why) const;
    void check_contents();

    std::string path_;
    int descriptor_ = -1;
    NpyHeader header_;
};

} // namespace weft
