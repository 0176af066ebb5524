// SPDX-License-Identifier: BSD-3-Clause
// A call in the making: its families fill it in, then it is appended with its parts.
#pragma once

#include "language.hpp"
#include "tracer.hpp"

#include <algorithm>
#include <vector>

namespace weft::trace {

/// A datatype's bytes; 0 for the null type, which some unused arguments are.
inline std::int64_t size_of(MPI_Datatype type) noexcept {
    MPI_Count size = 0;
    if (type != MPI_DATATYPE_NULL) {
        PMPI_Type_size_x(type, &size);
    }
    return size > 0 ? std::int64_t(size) : 0;
}

/// Buffers that each thread uses again.
struct Scratch {
    std::vector<Record> parts;
    std::vector<Request> pending;
    std::vector<MPI_Request> handles;
    std::vector<MPI_Status> statuses;
};

inline Scratch &scratch() {
    thread_local Scratch one;
    return one;
}

class Event {
  public:
    Event(Call call, void const *from) {
        record.call = std::uint16_t(call);
        record.thread = thread_number();
        record.site = tracer().site(from);
        scratch().parts.clear();
    }

    /// Makes the call itself, between two clock reads.
    template <typename Run> void time(Run run) {
        record.begin_ns = now_ns();
        code = run();
        record.end_ns = now_ns();
        record.flags |= code == MPI_SUCCESS ? 0 : failed;
    }
    bool good() const noexcept { return code == MPI_SUCCESS; }

    Group const &on(MPI_Comm comm) {
        group = tracer().groups().of(comm, tracer().file());
        record.comm = group->id;
        record.flags |= group->inter ? between_groups : 0;
        return *group;
    }
    void to(std::int64_t rank) { record.peer = group->world_rank(int(rank)); }
    void from(std::int64_t rank) {
        record.flags |= rank == MPI_ANY_SOURCE ? any_source : 0;
        record.peer = group->world_rank(int(rank));
    }
    void tagged(std::int64_t tag) {
        record.flags |= tag == MPI_ANY_TAG ? any_tag : 0;
        record.tag = tag == MPI_ANY_TAG ? -1 : std::int32_t(tag);
    }
    /// What came, from whom and with what tag.
    static void came(Record &into, Group const &in, MPI_Status const &status) {
        MPI_Count bytes = 0;
        PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        into.received = bytes == MPI_UNDEFINED || bytes < 0 ? 0 : std::int64_t(bytes);
        into.peer = in.world_rank(status.MPI_SOURCE);
        into.tag = status.MPI_TAG == MPI_ANY_TAG ? -1 : status.MPI_TAG;
    }

    /// This probe has matched a message, which is received by its handle alone.
    void matches(MPI_Message message, MPI_Status const &status) {
        Matched found{record, group};
        came(found.probe, *group, status);
        tracer().messages().add(message, std::move(found));
    }
    /// Receives a message that was matched; before the call, which gives its handle back.
    void matched(MPI_Message message) {
        Matched found = tracer().messages().take(message);
        group = std::move(found.group);
        record.comm = found.probe.comm;
        record.peer = found.probe.peer;
        record.tag = found.probe.tag;
        record.flags |= found.probe.flags & std::uint16_t(any_source | any_tag | between_groups);
    }

    /// This call made a request.
    void makes(MPI_Request handle, bool is_persistent, bool is_receive) {
        Request request;
        record.flags |= std::uint16_t((is_persistent ? persistent : 0) | (is_receive ? receive : 0));
        request.given = record;
        request.group = group;
        request.is_persistent = is_persistent;
        request.is_receive = is_receive;
        record.request = tracer().requests().add(handle, std::move(request));
    }
    /// A request has ended in this call.
    void completes(MPI_Request handle, Request const &request, MPI_Status const &status) {
        if (request.number == 0) {
            return; // inactive, or made by a call that is not traced
        }
        Record part;
        part.call = completion;
        part.flags = request.given.flags & std::uint16_t(any_source | any_tag | persistent | receive | between_groups);
        part.comm = request.given.comm;
        part.site = record.site;
        part.request = request.number;
        part.thread = record.thread;
        part.peer = request.given.peer;
        part.tag = request.given.tag;
        part.bytes = request.is_receive ? 0 : request.given.bytes;
        int gone = 0;
        if (request.is_cancelled && PMPI_Test_cancelled(&status, &gone) == MPI_SUCCESS && gone != 0) {
            part.flags |= cancelled;
            part.bytes = 0;
        } else if (request.is_receive && request.group) {
            came(part, *request.group, status);
        }
        scratch().parts.push_back(part);
        tracer().requests().end(handle, request.number);
    }
    /// Bytes to each member, behind the call.
    template <typename BytesTo> void counts_to(int size, BytesTo bytes_to) {
        constexpr int each = int(payload_bytes / sizeof(std::int64_t));
        for (int first = 0; first < size; first += each) {
            std::int64_t sent[each] = {};
            int const valid = std::min(each, size - first);
            for (int i = 0; i < valid; ++i) {
                sent[i] = bytes_to(first + i);
            }
            Record part;
            part.call = counts;
            part.site = std::uint32_t(first);
            part.comm = record.comm;
            part.peer = valid;
            std::memcpy(reinterpret_cast<char *>(&part) + offsetof(Record, begin_ns), sent, sizeof sent);
            scratch().parts.push_back(part);
        }
    }

    /// Bytes to each of some ranks, behind the call; for calls that reach few of their communicator.
    template <typename BytesTo> void bytes_to(std::vector<std::int32_t> const &ranks, BytesTo bytes_to) {
        constexpr std::size_t each = payload_bytes / (sizeof(std::int64_t) + sizeof(std::int32_t));
        for (std::size_t first = 0; first < ranks.size(); first += each) {
            std::int64_t sent[each] = {};
            std::int32_t to[each] = {};
            std::size_t const valid = std::min(each, ranks.size() - first);
            for (std::size_t i = 0; i < valid; ++i) {
                sent[i] = bytes_to(int(first + i));
                to[i] = ranks[first + i];
            }
            Record part;
            part.call = targets;
            part.comm = record.comm;
            part.peer = std::int32_t(valid);
            char *const payload = reinterpret_cast<char *>(&part) + offsetof(Record, begin_ns);
            std::memcpy(payload, sent, sizeof sent);
            std::memcpy(payload + sizeof sent, to, sizeof to);
            scratch().parts.push_back(part);
        }
    }

    void append() {
        std::vector<Record> &parts = scratch().parts;
        for (Record &part : parts) {
            if (part.call == completion) {
                part.begin_ns = record.begin_ns;
                part.end_ns = record.end_ns;
            }
        }
        tracer().file().append(record, parts);
        if (record.thread == 0) {
            tracer().look(record.end_ns);
        }
    }

    Record record;
    GroupPointer group;
    int code = MPI_SUCCESS;
};

} // namespace weft::trace
