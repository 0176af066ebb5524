// SPDX-License-Identifier: BSD-3-Clause
#include "round_file.hpp"

#include "error.hpp"
#include "texts.hpp"

#include <cstdio>
#include <sstream>

namespace weft::alltoall {

namespace {

[[noreturn]] void refuse(int line, std::string const &what) {
    throw Error(MPI_ERR_ARG, "weft: the file of rounds, line " + std::to_string(line) + ": " + what +
                                 " -> see native/alltoall/round_file.hpp for the format");
}

/// Memory for rounds: one step each for all ranks.
constexpr std::size_t most_steps = std::size_t(1) << 27;
/// A message is a line of four bytes or more.
constexpr std::size_t least_line = 4;

class Reader {
  public:
    explicit Reader(std::size_t bytes) : bytes_(bytes) {}

    void read(std::string const &line, int number) {
        line_ = number;
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word.front() == '#') {
            return;
        }
        if (!headed_) {
            int version = 0;
            if (word != "weft-rounds" || !(words >> version) || version != 1) {
                refuse(line_, shown(line) + " where \"weft-rounds 1\" should stand");
            }
            headed_ = true;
        } else if (word == "ranks") {
            set_ranks(words);
        } else if (word == "round") {
            begin_round();
        } else {
            add_message(line);
        }
    }

    RoundFile finish() {
        if (made.ranks == 0) {
            refuse(line_, "there is no line \"ranks P\"");
        }
        std::size_t const wanted = std::size_t(made.ranks) * std::size_t(made.ranks - 1);
        if (messages_ != wanted) {
            refuse(line_, std::to_string(messages_) + " messages, but " + std::to_string(made.ranks) + " ranks need " +
                              std::to_string(wanted));
        }
        return std::move(made);
    }

  private:
    void set_ranks(std::istringstream &words) {
        if (made.ranks != 0 || !(words >> made.ranks) || made.ranks < 1 || made.ranks > 65'536) {
            refuse(line_, "\"ranks\" needs one number from 1 to 65536, once");
        }
        std::size_t const pairs = std::size_t(made.ranks) * std::size_t(made.ranks - 1);
        if (pairs * least_line > bytes_) { // before memory for them is taken
            refuse(line_, std::to_string(made.ranks) + " ranks need " + std::to_string(pairs) +
                              " messages, more than a file of " + std::to_string(bytes_) + " bytes holds");
        }
        seen_.assign(std::size_t(made.ranks) * std::size_t(made.ranks), false);
    }

    void begin_round() {
        if (made.ranks == 0) {
            refuse(line_, "a round before the line \"ranks P\"");
        }
        if (made.rounds.size() == most_steps / std::size_t(made.ranks)) {
            refuse(line_, "more than " + std::to_string(made.rounds.size()) + " rounds");
        }
        if (!made.rounds.empty() && messages_ == messages_before_) {
            refuse(line_, "the round before has no message");
        }
        messages_before_ = messages_;
        made.rounds.emplace_back(std::size_t(made.ranks), Step{-1, -1});
    }

    void add_message(std::string const &line) {
        int from = -1;
        int to = -1;
        char more = 0;
        if (std::sscanf(line.c_str(), "%d %d %c", &from, &to, &more) != 2 || made.rounds.empty()) {
            refuse(line_, shown(line) + " is no message \"A B\" in a round");
        }
        if (from < 0 || to < 0 || from >= made.ranks || to >= made.ranks || from == to) {
            refuse(line_, "a message from " + std::to_string(from) + " to " + std::to_string(to) + " among " +
                              std::to_string(made.ranks) + " ranks");
        }
        auto &round = made.rounds.back();
        if (round[std::size_t(from)].to >= 0 || round[std::size_t(to)].from >= 0) {
            refuse(line_, "rank " + std::to_string(round[std::size_t(from)].to >= 0 ? from : to) +
                              " has a message of this round already");
        }
        auto const pair = std::size_t(from) * std::size_t(made.ranks) + std::size_t(to);
        if (seen_[pair]) {
            refuse(line_,
                   "the message from " + std::to_string(from) + " to " + std::to_string(to) + " is there already");
        }
        seen_[pair] = true;
        ++messages_;
        round[std::size_t(from)].to = to;
        round[std::size_t(to)].from = from;
    }

    RoundFile made;
    bool headed_ = false;
    int line_ = 0;
    std::size_t bytes_; // of the whole text
    std::size_t messages_ = 0;
    std::size_t messages_before_ = 0; // this round
    std::vector<bool> seen_;
};

} // namespace

RoundFile parse_rounds(std::string_view text) {
    Reader reader(text.size());
    std::istringstream lines{std::string(text)};
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        reader.read(line, number);
    }
    return reader.finish();
}

} // namespace weft::alltoall
