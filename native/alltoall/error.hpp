// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "common/check.hpp"

namespace weft::alltoall {

/// An error of an all-to-all: an MPI error code for the caller's error handler, and a text.
using Error = MpiError;

/// A rank found, before it sent anything, that its arguments do not fit an all-to-all: all ranks leave it to the
/// library, which says what is wrong, each to its own caller. See refusal.cpp.
struct Refused {};

} // namespace weft::alltoall
