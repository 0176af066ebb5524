# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501 - C
"""A program of rare shapes: derived types between groups, MPI_IN_PLACE, communicators freed in callbacks or in use."""

SHAPES = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int rank, n, wrong;
static void done(const char *what) {
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s: %d wrong\\n", what, all), fflush(stdout);
    wrong = 0;
}
static MPI_Comm B = MPI_COMM_NULL;
static int in_callback;
static void twice(MPI_Comm c) {
    int s[64], r[64], m, me;
    MPI_Comm_size(c, &m); MPI_Comm_rank(c, &me);
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < m; ++i) s[i] = 100 * me + i, r[i] = -1;
        MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, c);
        for (int i = 0; i < m; ++i) wrong += r[i] != 100 * i + me;
    }
}
static int del(MPI_Comm c, int key, void *v, void *e) {
    if (v) twice(B);
    if (B != MPI_COMM_NULL) MPI_Comm_free(&B);
    ++in_callback;
    return MPI_SUCCESS;
}
static void freed(int first, void *v, int how) {
    MPI_Comm A; int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &A); MPI_Comm_dup(MPI_COMM_WORLD, &B);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, del, &key, NULL);
    if (first) MPI_Comm_set_attr(A, key, v);
    twice(A); twice(B);
    if (!first) MPI_Comm_set_attr(A, key, v);
    if (how) MPI_Comm_disconnect(&A); else MPI_Comm_free(&A);
    wrong += B != MPI_COMM_NULL || in_callback != 1; in_callback = 0;
    MPI_Comm_free_keyval(&key);
    twice(MPI_COMM_WORLD);
}
static void inter(void) {
    MPI_Comm half, i; int first = rank < (n + 1) / 2, other, me;
    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? (n + 1) / 2 : 0, 7, &i);
    MPI_Comm_remote_size(i, &other); MPI_Comm_rank(i, &me);
    MPI_Datatype t, v; MPI_Type_vector(2, 1, 2, MPI_INT, &v); MPI_Type_create_resized(v, 0, 16, &t); MPI_Type_commit(&t);
    int s[256], r[256], c[64], d[64], b[64], two[64], at[64]; MPI_Datatype ts[64], ti[64];
    for (int round = 0; round < 3; ++round) for (int kind = 0; kind < 5; ++kind) {
        for (int k = 0; k < 256; ++k) s[k] = 1000 * rank + k, r[k] = -1;
        for (int k = 0; k < 64; ++k) c[k] = 1, d[k] = k, b[k] = 16 * k, ts[k] = t, ti[k] = MPI_INT, two[k] = 2, at[k] = 2 * k;
        int mine = first ? rank : rank - (n + 1) / 2; (void)mine;
        if (kind == 0) MPI_Alltoall(s, 1, t, r, 1, t, i);
        if (kind == 1) MPI_Alltoallv(s, c, d, t, r, c, d, t, i);
        if (kind == 2) MPI_Alltoallw(s, c, b, ts, r, c, b, ts, i);
        if (kind == 3) { MPI_Request q; MPI_Ialltoallv(s, c, d, t, r, c, d, t, i, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }
        if (kind == 4) { for (int k = 0; k < 64; ++k) b[k] = 16 * k; MPI_Request q; MPI_Ialltoallw(s, c, b, ts, r, c, b, ts, i, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }
        for (int p = 0; p < other; ++p) {
            int from = first ? (n + 1) / 2 + p : p;
            wrong += r[4 * p] != 1000 * from + 4 * me || r[4 * p + 2] != 1000 * from + 4 * me + 2 || r[4 * p + 1] != -1;
        }
    }
    MPI_Type_free(&t); MPI_Type_free(&v); MPI_Comm_free(&i); MPI_Comm_free(&half);
}
static void inplacew(void) {
    int r[64], c[64], d[64]; MPI_Datatype t[64]; MPI_Request q;
    for (int kind = 0; kind < 4; ++kind) {
        for (int k = 0; k < n; ++k) r[k] = 100 * rank + k, c[k] = 1, d[k] = 4 * k, t[k] = MPI_INT;
        if (kind == 0) MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, r, c, d, t, MPI_COMM_WORLD);
        if (kind == 1) { MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, r, c, d, t, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }
        if (kind == 2) { for (int k = 0; k < n; ++k) d[k] = k; MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, r, c, d, MPI_INT, MPI_COMM_WORLD); }
        if (kind == 3) { MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, r, 1, MPI_INT, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }
        for (int k = 0; k < n; ++k) wrong += r[k] != 100 * k + rank;
    }
}
static void pending(void) {
    MPI_Comm A; MPI_Request q[2]; int s[64], r[64], s2[64], r2[64];
    MPI_Comm_dup(MPI_COMM_WORLD, &A); twice(A);
    for (int i = 0; i < n; ++i) s[i] = s2[i] = 100 * rank + i, r[i] = r2[i] = -1;
    MPI_Ialltoall(s, 1, MPI_INT, r, 1, MPI_INT, A, &q[0]);
    MPI_Alltoall(s2, 1, MPI_INT, r2, 1, MPI_INT, A);
    MPI_Comm_free(&A);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i) wrong += r[i] != 100 * i + rank, wrong += r2[i] != 100 * i + rank;
}
static int at_end(MPI_Comm c, int key, void *v, void *e) {
    twice(B); MPI_Comm_free(&B);
    int w = 0; MPI_Allreduce(&wrong, &w, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("at the end: %d wrong\\n", w), fflush(stdout);
    return MPI_SUCCESS;
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &n);
    twice(MPI_COMM_WORLD);
    inter(); done("intercommunicator, derived");
    inplacew(); done("in place");
    freed(0, NULL, 0); done("freed in a callback set after");
    freed(1, NULL, 0); done("freed in a callback set before");
    freed(0, &n, 0); done("used and freed in a callback set after");
    freed(1, &n, 1); done("used and freed in a callback set before, disconnected");
    pending(); done("freed with a pending one");
    int key; MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &B); twice(B);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &n);
    return MPI_Finalize();
}
"""
