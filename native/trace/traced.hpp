// SPDX-License-Identifier: BSD-3-Clause
// One call under the tracer.
#pragma once

#include "collectives.hpp"
#include "completion.hpp"
#include "files.hpp"
#include "neighbours.hpp"
#include "one_sided.hpp"
#include "partitioned.hpp"
#include "point_to_point.hpp"

namespace weft::trace {

/// A library may carry out a call by other calls, and another interposer too: only the application's own are recorded.
class Scope {
  public:
    Scope() noexcept { ++depth(); }
    ~Scope() { --depth(); }
    static bool is_outermost() noexcept { return depth() == 1; }

  private:
    static int &depth() noexcept {
        thread_local int one = 0;
        return one;
    }
};

template <typename Family, typename L, typename Run, typename... A>
int traced(Call call, void const *from, Run run, A... a) {
    Scope const scope;
    if (!tracer().active() || !Scope::is_outermost()) {
        return run(a...);
    }
    Event event(call, from);
    Family::template around<L>(event, run, a...);
    event.append();
    return event.code;
}

} // namespace weft::trace
