// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include "common/json_value.hpp"
#include "error.hpp"
#include "texts.hpp"

#include <algorithm>
#include <initializer_list>

namespace weft::alltoall {

namespace {

using json::Array;
using json::Object;
using json::Value;

[[noreturn]] void refuse_table(std::string const &what) {
    throw Error(MPI_ERR_ARG, "weft: the selection table: " + what + " -> correct it, or leave WEFT_TABLE unset");
}

void allow(Object const &object, std::string const &where, std::initializer_list<char const *> keys) {
    for (auto const &[key, value] : object) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
            refuse_table(where + " has an unknown key " + shown(key));
        }
    }
}

Value const *member(Object const &object, char const *key) {
    auto const found = object.find(key);
    return found == object.end() ? nullptr : &found->second;
}

Range range_of(Object const &rule, std::string const &where, char const *key) {
    Value const *const value = member(rule, key);
    if (value == nullptr) {
        return {};
    }
    Array const *const ends = value->get<Array>();
    if (ends == nullptr || ends->size() != 2 || (*ends)[0].get<double>() == nullptr ||
        (*ends)[1].get<double>() == nullptr || *(*ends)[0].get<double>() > *(*ends)[1].get<double>()) {
        refuse_table(where + ": " + key + " is no range [low, high]");
    }
    return {*(*ends)[0].get<double>(), *(*ends)[1].get<double>()};
}

void check_evidence(Object const &rule, std::string const &where) {
    Value const *const value = member(rule, "evidence");
    Object const *const evidence = value == nullptr ? nullptr : value->get<Object>();
    if (evidence == nullptr) {
        refuse_table(where + " has no evidence for another algorithm than pmpi");
    }
    for (char const *key : {"median_us", "pmpi_us", "n"}) {
        if (member(*evidence, key) == nullptr || member(*evidence, key)->get<double>() == nullptr) {
            refuse_table(where + ": its evidence has no number \"" + key + "\"");
        }
    }
    range_of(*evidence, where + ", evidence", "interval_us");
    if (member(*evidence, "interval_us") == nullptr) {
        refuse_table(where + ": its evidence has no \"interval_us\"");
    }
}

Rule rule_of(Value const &value, std::string const &where) {
    Object const *const rule = value.get<Object>();
    if (rule == nullptr) {
        refuse_table(where + " is no object");
    }
    allow(*rule, where, {"op", "nodes", "ranks_per_node", "p", "bytes", "skew", "algorithm", "evidence"});
    auto const text = [&](char const *key) {
        Value const *const found = member(*rule, key);
        if (found == nullptr || found->get<std::string>() == nullptr) {
            refuse_table(where + " has no \"" + key + "\"");
        }
        return *found->get<std::string>();
    };
    std::string const op = text("op");
    if (op != "*" && op != "alltoall" && op != "alltoallv") {
        refuse_table(where + ": op is " + shown(op) + ", not alltoall, alltoallv or *");
    }
    Rule made{op != "alltoallv",
              op != "alltoall",
              range_of(*rule, where, "nodes"),
              range_of(*rule, where, "ranks_per_node"),
              range_of(*rule, where, "p"),
              range_of(*rule, where, "bytes"),
              range_of(*rule, where, "skew"),
              parse_spec(text("algorithm"))};
    if (made.spec.kind != Kind::pmpi) {
        check_evidence(*rule, where);
    }
    return made;
}

Value parsed(std::string_view text) {
    try {
        return json::parse(text);
    } catch (std::runtime_error const &error) {
        refuse_table(error.what());
    }
}

bool within(Range const &range, double value) {
    return range.low <= value && value <= range.high;
}

} // namespace

Table::Table(std::string_view text) {
    if (json::is_damaged(text)) {
        refuse_table(
            "its checksum is of other content: without its last entry, \"record_crc32\", it is taken as it is");
    }
    Value const whole = parsed(text);
    Object const *const object = whole.get<Object>();
    if (object == nullptr) {
        refuse_table("it is no object");
    }
    allow(*object, "it", {"schema", "created", "platform", "rules", "record_crc32"});
    Value const *const schema = member(*object, "schema");
    if (schema == nullptr || schema->get<std::string>() == nullptr || *schema->get<std::string>() != "weft-tuning/1") {
        refuse_table("its schema is not \"weft-tuning/1\"");
    }
    Value const *const rules = member(*object, "rules");
    if (rules == nullptr || rules->get<Array>() == nullptr) {
        refuse_table("it has no list \"rules\"");
    }
    for (Value const &each : *rules->get<Array>()) {
        rules_.push_back(rule_of(each, "rule " + std::to_string(rules_.size() + 1)));
    }
}

void SizeRules::add(Rule const &rule) {
    if (every_) {
        return;
    }
    bool const every_skew = rule.skew.low <= 1 && rule.skew.high >= 1e300;
    needs_skew_ = needs_skew_ || !every_skew;
    if (rule.bytes.low > 0 || rule.bytes.high < 1e300 || !every_skew) {
        rules_.push_back(rule);
        return;
    }
    every_ = rule.spec;
}

Spec const &SizeRules::choose(std::int64_t bytes, double skew) const {
    for (Rule const &rule : rules_) {
        if (within(rule.bytes, double(bytes)) && within(rule.skew, skew)) {
            return rule.spec;
        }
    }
    return every_ ? *every_ : library_own;
}

SizeRules Table::of_shape(Key const &key) const {
    SizeRules made;
    for (Rule const &rule : rules_) {
        bool const op = key.vector ? rule.alltoallv : rule.alltoall;
        // all nodes must be in the range: tables are measured on even nodes
        bool const node = within(rule.ranks_per_node, key.fewest_ranks) && within(rule.ranks_per_node, key.most_ranks);
        if (op && node && within(rule.nodes, key.nodes) && within(rule.ranks, key.ranks)) {
            made.add(rule);
        }
    }
    return made;
}

} // namespace weft::alltoall
