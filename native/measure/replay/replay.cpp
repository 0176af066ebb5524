// SPDX-License-Identifier: BSD-3-Clause
// The kernel `replay`: what a traced application asked of the network, again on these ranks.
//
//   script           the file that src/weft/trace/rank_actions.py made of a trace
//   compute_permille time between calls, in thousandths of the traced one
//   algorithm        of MPI_Alltoall and MPI_Alltoallv: the library's own (default), or one of native/alltoall
//
// The operation `replay` is the whole script, from the first call to the last.
#include "cell/kernels.hpp"
#include "replay/counted.hpp"
#include "replay/player.hpp"
#include "replay/script.hpp"

#include <optional>

namespace weft {

namespace {

constexpr char const *operation = "replay";

} // namespace

Need replay_need(Cell const &cell) {
    Script const script = read_sizes(cell.text("script"), cell.team().size);
    return {{{"messages sent", script.send_bytes},
             {"messages received", script.receive_bytes},
             {"script", script.script_bytes},
             {"samples", Recorder::bytes(1, cell.rules())},
             {"library staging", library_staging_bytes(cell.team().size)}}};
}

void run_replay(Cell &cell) {
    Team const &team = cell.team();
    std::string const &path = cell.text("script");
    Script script;
    std::optional<std::string> reason;
    try {
        script = read_script(path, team.size, team.rank);
    } catch (Failure const &failure) {
        reason = std::string(failure.what()) + "; " + failure.remedy();
    }
    refuse_together(team, "launch", reason);
    Player player(team, script, double(cell.integer("compute_permille", 1000)) / 1000.0,
                  AllToAll(cell.text("algorithm", "")));
    refuse_together(team, "launch", wrong_action(script, player.sizes(), path));
    refuse_together(team, "fabric", uncountable_action(script, player.sizes()));
    player.allocate();
    auto const play = [&] { player.play(); };
    cell.sampler().cold(operation, play, {.batch = false});
    cell.sampler().warm(operation, play, {.batch = false});
    cell.skip_validation("a replay sends bytes without a meaning: there is nothing to prove");
}

} // namespace weft
