// SPDX-License-Identifier: MIT
#include "comm/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "comm/sums.hpp"
#include "core/check.hpp"

namespace lockstep::comm {
namespace {

// MPI-3 counts are int; besides, Open MPI reduces 100 MB twice as fast in calls of 1 MB, which stay
// in cache.
constexpr std::size_t kMaxCallBytes = std::size_t{1} << 30;
constexpr std::size_t kReduceCallBytes = std::size_t{1} << 20;

MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::kByte:
      return MPI_BYTE;
    case ElementType::kInt32:
      return MPI_INT32_T;
    case ElementType::kInt64:
      return MPI_INT64_T;
    case ElementType::kUInt64:
      return MPI_UINT64_T;
    case ElementType::kFloat32:
      return MPI_FLOAT;
    case ElementType::kFloat64:
      return MPI_DOUBLE;
    case ElementType::kBFloat16:
      return MPI_UINT16_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(Op op) {
  switch (op) {
    case Op::kSum:
      return MPI_SUM;
    case Op::kMax:
      return MPI_MAX;
    case Op::kMin:
      return MPI_MIN;
  }
  return MPI_OP_NULL;
}

// Calls `piece(data, count)` for pieces of at most max_bytes.
template <class Piece>
void in_pieces(Buffer buffer, std::size_t max_bytes, Piece&& piece) {
  const std::size_t width = element_bytes(buffer.type);
  const std::size_t most = std::max<std::size_t>(1, max_bytes / width);
  for (std::size_t done = 0; done < buffer.count; done += most) {
    piece(static_cast<std::byte*>(buffer.data) + done * width,
          static_cast<int>(std::min(most, buffer.count - done)));
  }
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm parent) {
    check_mpi(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }
  ~MpiCommunicator() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Comm_free(&comm_);
  }

  void barrier() override { check_mpi(MPI_Barrier(comm_), "MPI_Barrier"); }
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<MpiCommunicator>(comm_);
  }
  [[noreturn]] void abort(ExitCode code) override {
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
    std::abort();
  }

 private:
  void do_all_reduce(Buffer data, Op op) override {
    if (ranks_ == 1) return;
    if (data.type == ElementType::kBFloat16) return all_reduce_bf16(data, op);
    in_pieces(data, kReduceCallBytes, [&](void* p, int n) {
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, p, n, mpi_type(data.type), mpi_op(op), comm_),
                "MPI_Allreduce");
    });
  }

  // No MPI type for bf16: halves are exchanged as 16-bit words, summed in fp32 in rank order,
  // rounded once.
  void all_reduce_bf16(Buffer data, Op op) {
    LOCKSTEP_ASSERT(op == Op::kSum, "bf16 knows sums only");
    in_pieces(data, kReduceCallBytes, [&](void* p, int n) {
      words_.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(ranks_));
      check_mpi(MPI_Allgather(p, n, MPI_UINT16_T, words_.data(), n, MPI_UINT16_T, comm_),
                "MPI_Allgather");
      sum_bf16(std::span<const BFloat16>(words_),
               std::span(static_cast<BFloat16*>(p), static_cast<std::size_t>(n)));
    });
  }

  void do_broadcast(Buffer data, int root) override {
    in_pieces(data, kMaxCallBytes, [&](void* p, int n) {
      check_mpi(MPI_Bcast(p, n, mpi_type(data.type), root, comm_), "MPI_Bcast");
    });
  }

  void do_all_gather(Buffer mine, Buffer all) override {
    LOCKSTEP_ASSERT(all.count == mine.count * static_cast<std::size_t>(ranks_),
                    "all ",
                    all.count,
                    ", mine ",
                    mine.count);
    if (mine.bytes() <= kMaxCallBytes / static_cast<std::size_t>(ranks_)) {
      check_mpi(MPI_Allgather(mine.data,
                              static_cast<int>(mine.count),
                              mpi_type(mine.type),
                              all.data,
                              static_cast<int>(mine.count),
                              mpi_type(mine.type),
                              comm_),
                "MPI_Allgather");
      return;
    }
    for (int r = 0; r < ranks_; ++r) {
      Buffer part{static_cast<std::byte*>(all.data) + static_cast<std::size_t>(r) * mine.bytes(),
                  mine.count,
                  mine.type};
      if (r == rank_) std::memcpy(part.data, mine.data, mine.bytes());
      do_broadcast(part, r);
    }
  }

  void do_reduce_scatter(Buffer all, Buffer mine) override {
    LOCKSTEP_ASSERT(all.count == mine.count * static_cast<std::size_t>(ranks_),
                    "all ",
                    all.count,
                    ", mine ",
                    mine.count);
    if (all.type == ElementType::kBFloat16 || all.bytes() > kMaxCallBytes) {
      do_all_reduce(all, Op::kSum);
      std::memcpy(
          mine.data,
          static_cast<std::byte*>(all.data) + static_cast<std::size_t>(rank_) * mine.bytes(),
          mine.bytes());
      return;
    }
    check_mpi(MPI_Reduce_scatter_block(all.data,
                                       mine.data,
                                       static_cast<int>(mine.count),
                                       mpi_type(all.type),
                                       MPI_SUM,
                                       comm_),
              "MPI_Reduce_scatter_block");
  }

  void do_send(Buffer data, int to) override {
    in_pieces(data, kMaxCallBytes, [&](void* p, int n) {
      check_mpi(MPI_Send(p, n, mpi_type(data.type), to, 0, comm_), "MPI_Send");
    });
  }
  void do_receive(Buffer data, int from) override {
    in_pieces(data, kMaxCallBytes, [&](void* p, int n) {
      check_mpi(MPI_Recv(p, n, mpi_type(data.type), from, 0, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    });
  }

  void do_exchange(Buffer mine, Buffer theirs, int peer) override {
    LOCKSTEP_ASSERT(mine.count == theirs.count, "mine ", mine.count, ", theirs ", theirs.count);
    auto* into = static_cast<std::byte*>(theirs.data);
    in_pieces(mine, kMaxCallBytes, [&](void* p, int n) {
      check_mpi(MPI_Sendrecv(p,
                             n,
                             mpi_type(mine.type),
                             peer,
                             0,
                             into,
                             n,
                             mpi_type(mine.type),
                             peer,
                             0,
                             comm_,
                             MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
      into += static_cast<std::size_t>(n) * element_bytes(mine.type);
    });
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<BFloat16> words_;
};

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw InternalError(
      cat(call, ": ", std::string_view(text.data(), static_cast<std::size_t>(length))));
}

std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm parent) {
  return std::make_unique<MpiCommunicator>(parent);
}

}  // namespace lockstep::comm
