// SPDX-License-Identifier: BSD-3-Clause
#include "cell/cell_record.hpp"

#include "common/json.hpp"

namespace weft {

namespace {

void write_columns(Json &json, Columns const &columns) {
    json.begin_array();
    for (std::string_view const column : columns) {
        json.value(column);
    }
    json.end_array();
}

/// Writes the layout of the segment's rows.
void write_layout(Json &json, Segment const &segment) {
    write_columns(json.key("columns"), segment.columns);
    if (segment.head.empty()) {
        return;
    }
    json.key("head").begin_array();
    for (Columns const &columns : segment.head) {
        write_columns(json, columns);
    }
    json.end_array();
}

void write_segments(Json &json, Recorder const &recorder, Clock const &clock) {
    json.key("segments").begin_array();
    std::int64_t first = 0;
    for (Segment const &segment : recorder.segments()) {
        json.begin_object();
        json.member("op", segment.op).member("phase", name(segment.phase));
        json.member("first", first).member("count", segment.count).member("batch", segment.batch);
        json.member("warmup", segment.warmup).member("ended_by", name(segment.ended_by));
        json.member("late", segment.late).member("definition", name(definition_of(segment, clock)));
        if (segment.peers_met) {
            json.member("peers_met", *segment.peers_met);
        }
        if (!segment.algorithm.empty()) {
            json.member("algorithm", segment.algorithm);
        }
        write_layout(json, segment);
        json.end_object();
        first += segment.count;
    }
    json.end_array();
}

void write_validation(Json &json, Validation const &validation) {
    json.key("validation").begin_object();
    json.member("performed", validation.performed).member("errors", validation.errors);
    json.member("detail", validation.detail);
    json.end_object();
}

void write_memory(Json &json, Verdict const &verdict) {
    json.key("memory").begin_object();
    json.member("need_rank_bytes", verdict.need_rank_bytes).member("need_node_bytes", verdict.need_node_bytes);
    json.member("available_node_bytes", verdict.available_node_bytes).member("formula", verdict.formula);
    json.end_object();
}

} // namespace

std::string describe_cell(Plan const &plan, Cell const &cell, Outcome const &outcome, Recorder const &recorder,
                          Clock const &clock, std::vector<std::string> const &warnings) {
    Json json;
    json.begin_object();
    json.member("schema", "weft-cell/2")
        .member("run", plan.run)
        .member("hash", cell.hash())
        .member("cell", cell.name())
        .member("launch", plan.launch);
    json.member("launch_index", plan.launch_index).member("kernel", cell.kernel());
    json.member("ranks", cell.team().size).member("status", outcome.status).member("reason", outcome.reason);
    if (!outcome.crcs.empty()) {
        json.key("shape").begin_array().value(cell.team().size).value(recorder.count()).value(3).end_array();
        json.key("crc32").begin_array();
        for (std::uint32_t const crc : outcome.crcs) {
            json.value(crc);
        }
        json.end_array();
        write_segments(json, recorder, clock);
    }
    json.key("clock").begin_object();
    json.member("method", clock.shared() ? "shared" : "tree").member("residual_ns", clock.residual_ns());
    json.end_object();
    write_validation(json, cell.validation());
    write_memory(json, outcome.memory);
    json.key("swap").begin_object();
    json.member("in_pages", outcome.pressure.swap_in_pages).member("out_pages", outcome.pressure.swap_out_pages);
    json.end_object();
    json.member("steal_ns", outcome.pressure.steal_ns).member("wall_ns", outcome.wall_ns);
    if (!outcome.nodes.empty()) {
        json.key("nodes").raw(outcome.nodes);
    }
    json.key("warnings").begin_array();
    for (std::string const &warning : warnings) {
        json.value(warning);
    }
    json.end_array().end_object();
    return with_checksum(json.text());
}

} // namespace weft
