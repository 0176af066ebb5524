// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/key_source.hpp"

#include "record/hash.hpp"
#include "record/npy_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace weft {

namespace {

/// Random number g, in [0, 1), of a stream given by seed and launch: stateless, so any rank can make any key.
class UniformNumbers {
  public:
    UniformNumbers(std::uint64_t seed, std::uint64_t launch_index) : stream_(mix(mix(seed) + launch_index)) {}
    [[nodiscard]] double operator()(std::uint64_t g) const {
        return static_cast<double>(mix(stream_ + mix(g)) >> 11) * 0x1.0p-53;
    }

  private:
    std::uint64_t stream_;
};

class UniformKeys final : public KeySource {
  public:
    explicit UniformKeys(UniformNumbers numbers) : number_(numbers) {}
    void keys(std::uint64_t first, std::span<double> out) override {
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = number_(first + i);
        }
    }

  private:
    UniformNumbers number_;
};

class SkewedKeys final : public KeySource {
  public:
    explicit SkewedKeys(UniformNumbers numbers) : number_(numbers) {}
    void keys(std::uint64_t first, std::span<double> out) override {
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = std::floor(1.0 / (1.0 - number_(first + i))); // 1 - u is in (0, 1]: never a division by zero
        }
    }

  private:
    UniformNumbers number_;
};

class ReverseKeys final : public KeySource {
  public:
    explicit ReverseKeys(std::uint64_t n) : n_(n) {}
    void keys(std::uint64_t first, std::span<double> out) override {
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = static_cast<double>(n_ - first - i);
        }
    }

  private:
    std::uint64_t n_;
};

class FileKeys final : public KeySource {
  public:
    FileKeys(std::string const &path, std::uint64_t n) : file_(path) {
        if (file_.count() < n) {
            throw KeyFileError("key file " + path + ": holds " + std::to_string(file_.count()) +
                               " keys where the study asks for n = " + std::to_string(n) +
                               "; make n smaller or give a longer file");
        }
    }
    void keys(std::uint64_t first, std::span<double> out) override { file_.read(first, out); }

  private:
    NpyFile file_;
};

/// Calls use(index of the first key, keys) for chunks of a few thousand keys.
template <class Use> void for_chunks(KeySource &source, std::uint64_t first, std::uint64_t count, Use &&use) {
    std::array<double, 4096> chunk;
    for (std::uint64_t done = 0; done < count; done += chunk.size()) {
        std::span const keys(chunk.data(),
                             static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), count - done)));
        source.keys(first + done, keys);
        use(done, keys);
    }
}

} // namespace

std::unique_ptr<KeySource> make_key_source(KeyRequest const &request) {
    UniformNumbers const numbers(request.seed, request.launch_index);
    if (request.data == "uniform") {
        return std::make_unique<UniformKeys>(numbers);
    }
    if (request.data == "skewed") {
        return std::make_unique<SkewedKeys>(numbers);
    }
    if (request.data == "reverse") {
        return std::make_unique<ReverseKeys>(request.n);
    }
    if (request.data == "file") {
        return std::make_unique<FileKeys>(request.file, request.n);
    }
    throw std::invalid_argument("data = \"" + request.data +
                                "\" is not known: give contention, uniform, skewed, reverse or file");
}

void write_vectors(KeySource &source, std::uint64_t first, Vectors out) {
    for_chunks(source, first, out.count, [&](std::uint64_t done, std::span<double const> keys) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            write_vector(out[done + i], keys[i]);
        }
    });
}

void refuse_nan(KeySource &source, std::uint64_t first, std::uint64_t count) {
    for_chunks(source, first, count, [&](std::uint64_t done, std::span<double const> keys) {
        auto const nan = std::find_if(keys.begin(), keys.end(), [](double key) { return std::isnan(key); });
        if (nan != keys.end()) {
            throw KeyFileError("key " + std::to_string(first + done + static_cast<std::uint64_t>(nan - keys.begin())) +
                               " (counted from 0) is NaN, which has no place in any order; replace it or take it out");
        }
    });
}

} // namespace weft
