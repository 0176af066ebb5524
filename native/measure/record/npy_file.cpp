// SPDX-License-Identifier: BSD-3-Clause
#include "record/npy_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

static_assert(std::endian::native == std::endian::little, "key files are little-endian and are read without a swap");

namespace weft {

namespace {

constexpr std::string_view how_to_write =
    "; write the keys with numpy.save(path, keys) where keys is a 1-D float64 array";

[[noreturn]] void reject(std::string const &why) {
    throw KeyFileError(why + std::string(how_to_write));
}

std::uint64_t little_endian(std::span<std::byte const> bytes) {
    std::uint64_t value = 0;
    for (auto i = bytes.size(); i > 0; --i) {
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
    }
    return value;
}

/// The text after `'name':` in the header's dictionary, up to the first of the characters in `close`.
std::string_view value_of(std::string_view dictionary, std::string_view name, std::string_view close) {
    auto const quoted = "'" + std::string(name) + "'";
    auto at = dictionary.find(quoted);
    if (at == std::string_view::npos) {
        reject("the header has no " + quoted);
    }
    at += quoted.size();
    while (at < dictionary.size() && (dictionary[at] == ' ' || dictionary[at] == ':')) {
        ++at;
    }
    auto const end = dictionary.find_first_of(close, at);
    if (end == std::string_view::npos) {
        reject("the value of " + quoted + " in the header has no end");
    }
    return dictionary.substr(at, end - at);
}

/// "(12,)" without its closing bracket: one number, an optional comma, nothing else.
std::uint64_t one_dimension(std::string_view shape) {
    std::string digits;
    for (char const c : shape) {
        if (c != ' ') {
            digits.push_back(c);
        }
    }
    std::uint64_t count = 0;
    auto const *const last = digits.data() + digits.size();
    if (digits.empty() || digits.front() != '(') {
        reject("the shape in the header is \"" + std::string(shape) + "\"");
    }
    auto const [rest, error] = std::from_chars(digits.data() + 1, last, count);
    auto const tail = std::string_view(rest, static_cast<std::size_t>(last - rest));
    if (error != std::errc{} || tail != ",") {
        reject("the array has shape " + std::string(shape) + "), not one dimension");
    }
    return count;
}

} // namespace

NpyHeader parse_npy_header(std::span<std::byte const> beginning) {
    constexpr std::string_view magic = "\x93NUMPY";
    if (beginning.size() < 12 || std::memcmp(beginning.data(), magic.data(), magic.size()) != 0) {
        reject("it does not begin like a .npy file");
    }
    auto const version = std::to_integer<int>(beginning[6]);
    if (version != 1 && version != 2) {
        reject("it is a .npy file of version " + std::to_string(version) + ", and versions 1 and 2 are read");
    }
    std::size_t const prefix = version == 1 ? 10 : 12;
    auto const length = little_endian(beginning.subspan(8, prefix - 8));
    if (length > beginning.size() - prefix) {
        reject("its header of " + std::to_string(length) + " bytes is longer than the file or than 64 KiB");
    }
    auto const *const text = reinterpret_cast<char const *>(beginning.data() + prefix);
    std::string_view const dictionary(text, static_cast<std::size_t>(length));

    auto const type = value_of(dictionary, "descr", ",}");
    if (type != "'<f8'") {
        reject("its elements are of type " + std::string(type) + ", not '<f8' (little-endian float64)");
    }
    auto const order = value_of(dictionary, "fortran_order", ",}");
    if (order != "False") {
        reject("its fortran_order is " + std::string(order) + ", not False");
    }
    return {prefix + length, one_dimension(value_of(dictionary, "shape", ")"))};
}

NpyFile::NpyFile(std::string path) : path_(std::move(path)) {
    descriptor_ =
        ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // without O_NONBLOCK a pipe would wait for its writer
    if (descriptor_ < 0) {
        refuse(std::string("cannot be opened: ") + std::strerror(errno) +
               "; give an absolute path that every node of the job can read");
    }
    try {
        check_contents();
    } catch (...) {
        ::close(descriptor_); // the destructor does not run if the constructor throws
        throw;
    }
}

void NpyFile::check_contents() {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) {
        refuse(std::string("cannot be examined: ") + std::strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        refuse("is not a regular file" + std::string(how_to_write));
    }
    std::vector<std::byte> beginning(npy_header_most);
    beginning.resize(read_bytes(0, beginning));
    try {
        header_ = parse_npy_header(beginning);
    } catch (KeyFileError const &error) {
        refuse(error.what());
    }
    auto const size = static_cast<std::uint64_t>(status.st_size);
    if (header_.count != (size - header_.data_offset) / sizeof(double) ||
        (size - header_.data_offset) % sizeof(double) != 0) {
        refuse("has " + std::to_string(size - header_.data_offset) + " bytes of data where its header says " +
               std::to_string(header_.count) +
               " elements of 8 bytes: it is cut off or has more behind; write it again");
    }
}

NpyFile::~NpyFile() {
    ::close(descriptor_);
}

void NpyFile::refuse(std::string const &why) const {
    throw KeyFileError("key file " + path_ + ": " + why);
}

std::size_t NpyFile::read_bytes(std::uint64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        auto const got = ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            refuse(std::string("cannot be read: ") + std::strerror(errno));
        }
        if (got == 0) {
            break;
        }
        done += static_cast<std::size_t>(got);
    }
    return done;
}

void NpyFile::read(std::uint64_t first, std::span<double> out) const {
    auto const bytes = std::as_writable_bytes(out);
    if (read_bytes(header_.data_offset + first * sizeof(double), bytes) != bytes.size()) {
        refuse("ends before element " + std::to_string(first + out.size()) +
               ": it was changed while it was used; write it again and leave it");
    }
}

} // namespace weft
