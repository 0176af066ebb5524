// SPDX-License-Identifier: BSD-3-Clause
// Doubles in address space without memory until they are touched, to test 64-bit arithmetic on a small machine.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <sys/mman.h>

class VirtualSpan {
  public:
    explicit VirtualSpan(std::uint64_t doubles) : bytes_(doubles * sizeof(double)) {
        auto *const at =
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            throw std::runtime_error("cannot reserve addresses for a virtual span: is `ulimit -v` set?");
        data_ = static_cast<double *>(at);
    }
    ~VirtualSpan() { ::munmap(data_, bytes_); }
    VirtualSpan(VirtualSpan const &) = delete;
    VirtualSpan &operator=(VirtualSpan const &) = delete;
    [[nodiscard]] double *data() const { return data_; }

  private:
    std::uint64_t bytes_;
    double *data_;
};
