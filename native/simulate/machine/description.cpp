// SPDX-License-Identifier: BSD-3-Clause
#include "description.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace weft::simulate {
namespace {

class Reader {
  public:
    explicit Reader(std::filesystem::path file) : file_(std::move(file)), input_(file_) {
        if (!input_)
            throw std::runtime_error(file_.string() + ": cannot be read");
    }

    Description read() {
        if (!next_line() || key_ != "weft-platform")
            fail("expected 'weft-platform 1'");
        if (number() != 1)
            fail("expected version 1");
        while (next_line())
            statement();
        if (net_.hosts.empty())
            fail("no hosts");
        return std::move(net_);
    }

  private:
    bool next_line() {
        while (std::getline(input_, text_)) {
            ++line_;
            words_ = std::istringstream(text_);
            if (words_ >> key_ && key_[0] != '#')
                return true;
        }
        return false;
    }

    void statement() {
        if (key_ == "name")
            net_.name = word();
        else if (key_ == "host")
            add_host();
        else if (key_ == "switch")
            add_switch();
        else if (key_ == "link")
            add_link();
        else if (key_ == "next")
            add_next();
        else if (key_ == "ranks-per-node")
            net_.ranks_per_node = static_cast<std::int32_t>(number());
        else if (key_ == "rails")
            net_.rails = static_cast<std::int32_t>(positive());
        else if (key_ == "node-memory")
            net_.memory_bytes = number();
        else if (key_ == "copies")
            net_.memory_bytes_per_s = positive(), net_.memory_latency_s = number();
        else if (key_ == "core-copies")
            net_.core_bytes_per_s = positive();
        else if (key_ == "library-copies")
            net_.library_copies = number() != 0;
        else if (key_ == "alltoall-steps")
            net_.alltoall_steps = static_cast<std::int32_t>(positive());
        else if (key_ == "message")
            net_.message.inside_s = number();
        else if (key_ == "segment")
            add_segment();
        else if (key_ == "gap-after-bytes")
            net_.gap_after_bytes = number() != 0;
        else if (key_ == "connections")
            net_.connections = {
                .cost_s = number(), .most_eager = static_cast<std::int64_t>(number()), .start_up = word()};
        else
            fail("unknown line");
    }

    void add_segment() {
        // "all" and not a number below 0: an empty message belongs to the first segment
        auto const above = word();
        auto const above_bytes = above == "all" ? -1 : to_number(above);
        auto &segments = net_.message.segments;
        if (!segments.empty() && above_bytes <= segments.back().above_bytes)
            fail("segments ascend");
        segments.push_back(
            {.above_bytes = above_bytes, .overhead_s = number(), .gap_s = number(), .s_per_byte = number()});
    }

    void add_host() {
        if (!net_.switches.empty())
            fail("hosts come before switches");
        remember(net_.hosts.emplace_back(word()));
        net_.uplink.push_back(none);
    }

    void add_switch() {
        remember(net_.switches.emplace_back(word()));
        net_.next.resize(net_.switches.size() * net_.hosts.size(), none);
    }

    void add_link() {
        auto const from = vertex(), to = vertex();
        net_.links.push_back({from, to, positive(), number()});
        auto const host = static_cast<std::size_t>(from);
        if (from < net_.host_count() && net_.uplink[host] == none)
            net_.uplink[host] = static_cast<std::int32_t>(net_.links.size()) - 1;
    }

    // One line per switch, one word per host: the index of the link towards it, or '-'.
    void add_next() {
        auto const at = vertex();
        if (at < net_.host_count())
            fail("'next' is for switches");
        auto const row = static_cast<std::size_t>(at - net_.host_count()) * net_.hosts.size();
        for (auto host = 0U; host < net_.hosts.size(); ++host) {
            auto const seen = word();
            if (seen == "-")
                continue;
            auto const link = static_cast<std::size_t>(to_number(seen));
            if (link >= net_.links.size() || net_.links[link].from != at)
                fail("link " + seen + " does not leave this switch");
            net_.next[row + host] = static_cast<std::int32_t>(link);
        }
    }

    void remember(std::string const &name) {
        if (!vertices_.emplace(name, static_cast<Vertex>(vertices_.size())).second)
            fail("'" + name + "' is named twice");
    }

    Vertex vertex() {
        auto const name = word();
        auto const found = vertices_.find(name);
        if (found == vertices_.end())
            fail("no host or switch '" + name + "'");
        return found->second;
    }

    std::string word() {
        std::string text;
        if (!(words_ >> text))
            fail("a word is missing");
        return text;
    }

    double to_number(std::string const &text) {
        std::size_t used = 0;
        double value = -1;
        try {
            value = std::stod(text, &used);
        } catch (std::exception const &) {
        }
        if (used != text.size() || !(value >= 0))
            fail("expected a number from 0 on, not '" + text + "'");
        return value;
    }

    double number() { return to_number(word()); }

    double positive() {
        auto const value = number();
        if (value == 0)
            fail("expected a rate above 0");
        return value;
    }

    [[noreturn]] void fail(std::string const &what) const {
        throw std::runtime_error(file_.string() + ":" + std::to_string(line_) + ": " + what + ": " +
                                 text_.substr(0, 80));
    }

    std::filesystem::path file_;
    std::ifstream input_;
    std::istringstream words_;
    std::string text_, key_;
    int line_ = 0;
    std::unordered_map<std::string, Vertex> vertices_;
    Description net_;
};

} // namespace

Description read_description(std::filesystem::path const &file) {
    return Reader(file).read();
}

void walk(Description const &net, Vertex from, Vertex to, std::vector<std::int32_t> &links) {
    links.clear();
    auto const name = [&](Vertex v) {
        auto const i = static_cast<std::size_t>(v);
        return v < net.host_count() ? net.hosts[i] : net.switches[i - net.hosts.size()];
    };
    for (auto at = from; at != to;) {
        auto const link = net.next_link(at, to);
        if (link == none)
            throw std::runtime_error("no route from " + name(from) + " to " + name(to) + ": " + name(at) +
                                     " knows no link towards it");
        links.push_back(link);
        at = net.links[static_cast<std::size_t>(link)].to;
        // A loop-free route visits no switch twice, so a longer one has a loop.
        if (links.size() > net.switches.size() + 1)
            throw std::runtime_error("no route from " + name(from) + " to " + name(to) + ": it goes in circles at " +
                                     name(at));
    }
}

} // namespace weft::simulate
