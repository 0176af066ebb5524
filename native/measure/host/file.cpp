// SPDX-License-Identifier: BSD-3-Clause
#include "host/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft {

PartFile::PartFile(std::string path, std::string const &mark)
    : path_(std::move(path)), part_(path_ + (mark.empty() ? "" : "." + mark) + ".part") {
    // A run folder may come from another user: remove an existing file of this name, never write through it (it may be
    // a link).
    unlink(part().c_str());
    fd_ = open(part().c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0644);
    if (fd_ < 0) {
        fail("create");
    }
}

PartFile::~PartFile() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
    if (!published_) {
        unlink(part().c_str());
    }
}

void PartFile::fail(char const *doing) const {
    int const error = errno;
    throw Failure(std::string("cannot ") + doing + " " + part() + ": " + std::strerror(error), file_remedy(error));
}

void PartFile::reserve(std::int64_t bytes) {
    // Not posix_fallocate: on file systems without support it would write every block.
    if (bytes > 0 && fallocate(fd_, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
        fail("reserve space for");
    }
}

void PartFile::write(std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        constexpr std::size_t most = std::size_t(1) << 30; // a Linux call transfers less than 2^31 bytes
        ssize_t const written = ::write(fd_, bytes.data(), std::min(bytes.size(), most));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            fail("write");
        }
        bytes = bytes.subspan(std::size_t(written));
    }
}

void PartFile::write(std::string_view text) {
    write(std::as_bytes(std::span(text)));
}

void PartFile::close() {
    int const fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) {
        fail("close"); // a network file system may report a full disk only now
    }
}

void PartFile::reopen() {
    fd_ = open(part().c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd_ < 0) {
        fail("read");
    }
}

std::int64_t PartFile::size() const {
    struct stat facts{};
    if (fstat(fd_, &facts) != 0) {
        fail("examine");
    }
    return facts.st_size;
}

void PartFile::read(std::int64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
        ssize_t const got = pread(fd_, into.data(), into.size(), off_t(offset));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            fail("read back");
        }
        offset += got;
        into = into.subspan(std::size_t(got));
    }
}

void PartFile::publish() {
    if (fsync(fd_) != 0) {
        fail("store");
    }
    close();
    if (rename(part().c_str(), path_.c_str()) != 0) {
        fail("rename");
    }
    published_ = true;
    // The rename survives a power cut only after the folder is synchronised. Some file systems cannot do that; the data
    // is complete in either case, so this is not an error.
    std::size_t const slash = path_.find_last_of('/');
    std::string const folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    int const fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        ::close(fd);
    }
}

void write_file(std::string const &path, std::string_view text) {
    PartFile file(path);
    file.write(text);
    file.publish();
}

std::string file_remedy(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free space or raise the quota, or choose another place with --into; then start the same run again";
    case EROFS:
    case EACCES:
    case EPERM:
        return "make the run folder writable, or choose another place with --into";
    case ENOENT:
    case ENOTDIR:
        return "every host must see the run folder: put it on a shared file system with --into";
    default:
        return "examine the file system of the run folder, or choose another place with --into";
    }
}

void on_rank_0(Team const &team, std::function<void()> const &work) {
    std::string what;
    std::string remedy;
    if (team.rank == 0) {
        try {
            work();
        } catch (Failure const &failure) {
            what = failure.what();
            remedy = failure.remedy();
        }
    }
    // Other ranks do not need the text: only rank 0 prints.
    if (max_over(team, what.empty() ? 0 : 1) != 0) {
        throw Failure(what, remedy, true);
    }
}

} // namespace weft
