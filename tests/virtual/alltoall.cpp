// SPDX-License-Identifier: BSD-3-Clause
// A known volume over a virtual cluster: alltoall BYTES CALLS. Prints one line of JSON on rank 0: where each rank ran, how many ranks
// share memory with it, and the seconds of the fastest call (largest over ranks).
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int const bytes = argc > 1 ? std::atoi(argv[1]) : 1;
  int const calls = argc > 2 ? std::atoi(argv[2]) : 1;

  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  int sharing = 0;
  MPI_Comm_size(shared, &sharing);
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(host, &length);

  std::vector<char> send(static_cast<std::size_t>(bytes) * size, static_cast<char>(rank + 1));
  std::vector<char> receive(send.size());
  double best = 1e9;
  int errors = 0;
  for (int k = 0; k < calls; ++k) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    MPI_Alltoall(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
    double mine = MPI_Wtime() - start;
    double slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = slowest < best ? slowest : best;
    for (int from = 0; from < size; ++from) {
      errors += receive[static_cast<std::size_t>(from) * bytes + bytes - 1] != static_cast<char>(from + 1);
    }
  }

  std::vector<char> hosts(static_cast<std::size_t>(size) * MPI_MAX_PROCESSOR_NAME);
  std::vector<int> sharings(size);
  int all_errors = 0;
  MPI_Gather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Gather(&sharing, 1, MPI_INT, sharings.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Reduce(&errors, &all_errors, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("{\"ranks\": %d, \"errors\": %d, \"seconds\": %.6f, \"where\": [", size, all_errors, best);
    for (int each = 0; each < size; ++each) {
      std::printf("%s[\"%s\", %d]", each ? ", " : "", hosts.data() + static_cast<std::size_t>(each) * MPI_MAX_PROCESSOR_NAME, sharings[each]);
    }
    std::printf("]}\n");
  }
  MPI_Comm_free(&shared);
  MPI_Finalize();
}
