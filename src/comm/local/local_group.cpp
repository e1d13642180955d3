// SPDX-License-Identifier: MIT
#include "comm/local/local_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "comm/sums.hpp"
#include "core/check.hpp"

namespace lockstep::comm {
namespace {

// What the ranks of one group share. Every collective is: all arrive with their buffers, the last
// one computes, all leave.
class Meeting {
 public:
  explicit Meeting(int ranks) : buffers_(static_cast<std::size_t>(ranks)) {}

  // The last rank to arrive runs `work` on everybody's buffers; nobody leaves before it is done.
  template <class Work>
  void meet(int rank, Buffer mine, Work&& work) {
    std::unique_lock lock(mutex_);
    check_alive();
    buffers_[static_cast<std::size_t>(rank)] = mine;
    const auto round = round_;
    if (++arrived_ == buffers_.size()) {
      try {
        work(buffers_);
      } catch (const std::exception& e) {  // a wrong call: nobody may wait for ever
        aborted_ = true;
        reason_ = e.what();
        changed_.notify_all();
        throw;
      }
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || aborted_; });
    if (round_ == round) check_alive();
  }

  void send(int from, int to, Buffer data) {
    const std::lock_guard lock(mutex_);
    check_alive();
    const auto* bytes = static_cast<const std::byte*>(data.data);
    mail_[{from, to}].emplace_back(bytes, bytes + data.bytes());
    changed_.notify_all();
  }

  void receive(int from, int to, Buffer data) {
    std::unique_lock lock(mutex_);
    auto& box = mail_[{from, to}];
    changed_.wait(lock, [&] { return !box.empty() || aborted_; });
    check_alive();
    LOCKSTEP_ASSERT(box.front().size() == data.bytes(),
                    "sent ",
                    box.front().size(),
                    ", expected ",
                    data.bytes(),
                    " bytes");
    std::memcpy(data.data, box.front().data(), data.bytes());
    box.pop_front();
  }

  void abort(int rank, ExitCode code) {
    const std::lock_guard lock(mutex_);
    if (!aborted_)
      reason_ = cat("rank ", rank, " aborted the group with code ", static_cast<int>(code));
    aborted_ = true;
    for (auto& child : children_) child->abort(rank, code);
    changed_.notify_all();
  }

  // One child per round of duplicate(): the first to ask makes it, the last takes it off the table.
  std::shared_ptr<Meeting> child;
  void adopt(std::shared_ptr<Meeting> made) {
    children_.push_back(made);
    child = std::move(made);
  }

 private:
  void check_alive() const {
    if (aborted_) throw InternalError(reason_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Buffer> buffers_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
  std::string reason_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail_;
  std::vector<std::shared_ptr<Meeting>> children_;
};

using Buffers = std::vector<Buffer>;

template <class T>
void combine(const Buffers& buffers, Op op) {
  const std::size_t n = buffers[0].count;
  std::vector<T> result(static_cast<T*>(buffers[0].data), static_cast<T*>(buffers[0].data) + n);
  for (std::size_t r = 1; r < buffers.size(); ++r) {
    const T* other = static_cast<T*>(buffers[r].data);
    for (std::size_t i = 0; i < n; ++i) {
      result[i] = op == Op::kSum   ? static_cast<T>(result[i] + other[i])
                  : op == Op::kMax ? std::max(result[i], other[i])
                                   : std::min(result[i], other[i]);
    }
  }
  for (const auto& buffer : buffers)
    std::copy(result.begin(), result.end(), static_cast<T*>(buffer.data));
}

void combine_bf16(const Buffers& buffers) {
  const std::size_t n = buffers[0].count;
  std::vector<BFloat16> all;
  for (const auto& b : buffers)
    all.insert(all.end(), static_cast<BFloat16*>(b.data), static_cast<BFloat16*>(b.data) + n);
  std::vector<BFloat16> sum(n);
  sum_bf16(all, sum);
  for (const auto& b : buffers) std::copy(sum.begin(), sum.end(), static_cast<BFloat16*>(b.data));
}

void combine(const Buffers& buffers, Op op) {
  for (const auto& b : buffers) {
    LOCKSTEP_ASSERT(b.count == buffers[0].count && b.type == buffers[0].type,
                    "ranks bring ",
                    b.count,
                    " and ",
                    buffers[0].count,
                    " elements");
  }
  switch (buffers[0].type) {
    case ElementType::kInt32:
      return combine<std::int32_t>(buffers, op);
    case ElementType::kInt64:
      return combine<std::int64_t>(buffers, op);
    case ElementType::kUInt64:
      return combine<std::uint64_t>(buffers, op);
    case ElementType::kFloat32:
      return combine<float>(buffers, op);
    case ElementType::kFloat64:
      return combine<double>(buffers, op);
    case ElementType::kBFloat16:
      LOCKSTEP_ASSERT(op == Op::kSum, "bf16 knows sums only");
      return combine_bf16(buffers);
    case ElementType::kByte:
      LOCKSTEP_ASSERT(false, "bytes have no sum");
  }
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Meeting> meeting, int rank, int ranks)
      : meeting_(std::move(meeting)) {
    rank_ = rank;
    ranks_ = ranks;
  }

  void barrier() override {
    meeting_->meet(rank_, {}, [](const Buffers&) {});
  }

  std::unique_ptr<Communicator> duplicate() override {
    meeting_->meet(rank_, {}, [&](const Buffers&) {
      meeting_->adopt(std::make_shared<Meeting>(ranks_));
    });
    auto child = meeting_->child;
    meeting_->meet(rank_, {}, [](const Buffers&) {
    });  // all have taken it before the next duplicate() replaces it
    return std::make_unique<LocalCommunicator>(std::move(child), rank_, ranks_);
  }

  [[noreturn]] void abort(ExitCode code) override {
    meeting_->abort(rank_, code);
    throw InternalError(
        cat("rank ", rank_, " aborted the group with code ", static_cast<int>(code)));
  }

 private:
  void do_all_reduce(Buffer data, Op op) override {
    meeting_->meet(rank_, data, [&](const Buffers& all) { combine(all, op); });
  }

  void do_broadcast(Buffer data, int root) override {
    meeting_->meet(rank_, data, [&](const Buffers& all) {
      const Buffer& from = all[static_cast<std::size_t>(root)];
      for (const auto& to : all) {
        LOCKSTEP_ASSERT(to.count == from.count && to.type == from.type,
                        "root brings ",
                        from.count,
                        ", a rank ",
                        to.count,
                        " elements");
        if (to.data != from.data && to.bytes() > 0) std::memcpy(to.data, from.data, from.bytes());
      }
    });
  }

  void do_all_gather(Buffer mine, Buffer all) override {
    LOCKSTEP_ASSERT(all.count == mine.count * static_cast<std::size_t>(ranks_),
                    "all ",
                    all.count,
                    ", mine ",
                    mine.count);
    // Everybody brings its source and its target; the last to arrive copies all.
    struct Pair {
      Buffer from, to;
    } pair{mine, all};
    meeting_->meet(rank_, {&pair, 1, ElementType::kByte}, [](const Buffers& pairs) {
      for (const auto& target : pairs) {
        auto* out = static_cast<std::byte*>(static_cast<Pair*>(target.data)->to.data);
        for (const auto& source : pairs) {
          const Buffer& from = static_cast<Pair*>(source.data)->from;
          if (from.bytes() > 0) std::memcpy(out, from.data, from.bytes());
          out += from.bytes();
        }
      }
    });
  }

  void do_reduce_scatter(Buffer all, Buffer mine) override {
    LOCKSTEP_ASSERT(all.count == mine.count * static_cast<std::size_t>(ranks_),
                    "all ",
                    all.count,
                    ", mine ",
                    mine.count);
    do_all_reduce(all, Op::kSum);
    if (mine.bytes() > 0)
      std::memcpy(
          mine.data,
          static_cast<std::byte*>(all.data) + static_cast<std::size_t>(rank_) * mine.bytes(),
          mine.bytes());
  }

  void do_send(Buffer data, int to) override { meeting_->send(rank_, to, data); }
  void do_receive(Buffer data, int from) override { meeting_->receive(from, rank_, data); }

  void do_exchange(Buffer mine, Buffer theirs, int peer) override {
    do_send(mine, peer);  // copies: nobody waits here
    do_receive(theirs, peer);
  }

  std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local_group(int ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::unique_ptr<Communicator>> group;
  for (int r = 0; r < ranks; ++r)
    group.push_back(std::make_unique<LocalCommunicator>(meeting, r, ranks));
  return group;
}

}  // namespace lockstep::comm
