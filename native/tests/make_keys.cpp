// SPDX-License-Identifier: BSD-3-Clause
// make_keys PATH N: writes a .npy file of N float64 keys in no order, with some that occur twice; for
// run_exchange.cmake.
#include "scratch_file.hpp"

#include <cstdlib>
#include <fstream>
#include <random>
#include <vector>

int main(int argc, char **argv) {
    if (argc != 3)
        return 1;
    std::mt19937_64 random(7);
    std::vector<double> keys(std::strtoull(argv[2], nullptr, 10));
    for (auto &key : keys)
        key = static_cast<double>(random() % (1 + keys.size() / 2)) / 8.0;
    std::ofstream out(argv[1], std::ios::binary);
    out << npy_bytes(keys);
    return out.flush() ? 0 : 1;
}
