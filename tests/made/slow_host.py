# SPDX-License-Identifier: BSD-3-Clause
"""Libraries for LD_PRELOAD under which one host has slow memory, a slow processor, or starts nothing."""

import subprocess
from pathlib import Path

#: Of a host its ranks alone: shells and daemons that wait there would take cores from all hosts of this machine.
HOST = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int is_slow(void) {
    if (!strstr(program_invocation_short_name, "weft-measure")) {
        return 0;
    }
    char name[64] = "";
    char const *const made_up = getenv("SLURMD_NODENAME");
    gethostname(name, sizeof name);
    return strcmp(made_up ? made_up : name, "NODE") == 0;
}
"""
#: Copies of over 64 KiB are made twelve times.
MEMORY = r"""
void *memcpy(void *to, void const *from, size_t bytes) {
    static int slow = -1;
    if (slow < 0) {
        slow = is_slow();
    }
    for (int turn = 0; turn < (slow && bytes > 1 << 16 ? 12 : 1); ++turn) {
        memmove(to, from, bytes);
    }
    return to;
}
"""
#: Two thirds of the first thread's time, 0.2 ms of every 0.3 ms, go to a signal handler.
PROCESSOR = r"""
static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
static void take_time(int signal) {
    for (long const ends = now_ns() + 200000; now_ns() < ends;) {
    }
}
__attribute__((constructor)) static void slow_down(void) {
    if (!is_slow()) {
        return;
    }
    struct sigaction action = {.sa_handler = take_time, .sa_flags = SA_RESTART};
    sigaction(SIGRTMAX - 1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 1};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    timer_t timer;
    struct itimerspec every = {{0, 300000}, {0, 300000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
        timer_settime(timer, 0, &every, NULL);
    }
}
"""
#: Weft's kernel ends before MPI_Init.
NO_START = r"""
#include <stdio.h>
__attribute__((constructor)) static void end(void) {
    if (is_slow()) {
        fputs("this host is broken\n", stderr);
        _exit(3);
    }
}
"""


def build_slow_host(folder: Path, host: str, fault: str) -> Path:
    """The library by which a host, named by itself or by Slurm, has a fault: `MEMORY`, `PROCESSOR` or `NO_START`."""
    library = folder / "slow.so"
    words = ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    text = HOST.replace('"NODE"', f'"{host}"') + fault
    subprocess.run(words, input=text, text=True, check=True)
    return library
