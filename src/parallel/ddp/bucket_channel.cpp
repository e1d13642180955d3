// SPDX-License-Identifier: MIT
#include "parallel/ddp/bucket_channel.hpp"

namespace lockstep::parallel {

BucketChannel::BucketChannel(std::unique_ptr<comm::Communicator> communicator, bool threaded)
    : communicator_(std::move(communicator)) {
  if (threaded && communicator_->ranks() > 1) thread_ = std::thread([this] { run(); });
}

BucketChannel::~BucketChannel() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BucketChannel::begin_step() {
  const std::lock_guard lock(mutex_);
  timings_.clear();
  reduced_ = 0;
  since_begin_.restart();
}

void BucketChannel::push(std::span<float> bucket) {
  if (!thread_.joinable()) {
    timings_.push_back({since_begin_.ms(), 0});
    communicator_->all_reduce(bucket, comm::Op::kSum);
    timings_[reduced_++].done_ms = since_begin_.ms();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(bucket);
    timings_.push_back({since_begin_.ms(), 0});
    ++unfinished_;
  }
  changed_.notify_all();
}

void BucketChannel::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return unfinished_ == 0 || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void BucketChannel::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const auto bucket = queue_.front();
    queue_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      communicator_->all_reduce(bucket, comm::Op::kSum);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) failure_ = failure;
    timings_[reduced_++].done_ms = since_begin_.ms();
    --unfinished_;
    changed_.notify_all();
    if (failure) return;
  }
}

}  // namespace lockstep::parallel
