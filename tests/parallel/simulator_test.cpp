// SPDX-License-Identifier: MIT
// The simulator: ranks as threads with an in-memory transport run the real reducer through seeded
// programs: hooks in any order, missing and undefined gradients, accumulation windows, replaced
// plans, a rank that throws anywhere. The oracle is the sum of the ranks' gradients; values are
// small whole numbers, so every sum is exact. A failure prints the seed that repeats it.
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <exception>
#include <random>
#include <thread>

#include "comm/local/local_group.hpp"
#include "parallel/ddp/reducer.hpp"
#include "support/catch.hpp"

namespace lockstep::parallel {
namespace {

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

// What one parameter does in one micro-step on one rank.
enum class Fire { kInPlace, kReplaced, kUndefined, kNever };

struct Program {
  int ranks = 1;
  std::vector<std::vector<std::int64_t>> shapes;
  bool threaded = false;
  std::int64_t cap = 16;
  int steps = 1;
  int micro_steps = 1;
  int thrower = -1;     // this rank throws ...
  int throw_at = 0;     // ... before its hook call of this number
  bool replan = false;  // a new order after the first step
  std::uint64_t seed = 0;

  Fire fire(int rank, int step, int micro, std::size_t p) const {
    Random random(seed * 7919 + rank * 10007 + step * 101 + micro * 13 + p);
    random.discard(3);
    const auto roll = below(random, 20);
    if (roll < 13) return Fire::kInPlace;
    if (roll < 15) return micro == 0 ? Fire::kReplaced : Fire::kInPlace;
    if (roll < 17) return micro == 0 ? Fire::kUndefined : Fire::kNever;
    return Fire::kNever;
  }
  float value(int rank, int step, int micro, std::size_t p) const {
    return static_cast<float>((rank * 31 + step * 17 + micro * 7 + static_cast<int>(p) * 3) % 23 -
                              11);
  }
};

Program make_program(std::uint64_t seed) {
  Random random(seed);
  Program out;
  out.seed = seed;
  out.ranks = 1 + static_cast<int>(below(random, 4));
  const auto parameters = 1 + below(random, 7);
  for (std::int64_t p = 0; p < parameters; ++p) {
    if (below(random, 3) == 0) {
      out.shapes.push_back({1 + below(random, 3), 2, 2, 1 + below(random, 3)});
    } else {
      out.shapes.push_back({1 + below(random, 40)});
    }
  }
  out.threaded = below(random, 2) == 0;
  out.cap = 1 + below(random, 120);
  out.steps = 1 + static_cast<int>(below(random, 3));
  out.micro_steps = 1 + static_cast<int>(below(random, 3));
  out.replan = below(random, 3) == 0;
  if (below(random, 8) == 0) {
    out.thrower = static_cast<int>(below(random, out.ranks));
    out.throw_at = static_cast<int>(below(random, parameters * out.micro_steps * out.steps));
  }
  return out;
}

// One rank's run; gathers what it saw instead of asserting, since Catch2 is for one thread.
class SimulatedRank {
 public:
  SimulatedRank(const Program& program, int rank, comm::Communicator& communicator)
      : program_(program),
        rank_(rank),
        communicator_(communicator),
        random_(program.seed * 31 + rank) {
    std::vector<NamedTensor> named;
    std::vector<ParameterSize> sizes;
    for (const auto& shape : program.shapes) {
      auto tensor = torch::zeros(shape);
      if (shape.size() == 4) tensor = tensor.contiguous(torch::MemoryFormat::ChannelsLast);
      tensor.set_requires_grad(true);
      named.push_back({"p" + std::to_string(named.size()), tensor});
      sizes.push_back({named.back().name, tensor.numel()});
    }
    auto plan = plan_buckets(sizes, reverse_order(sizes.size()), program.cap);
    reducer_ = std::make_unique<Reducer>(
        named,
        std::move(plan),
        std::make_unique<BucketChannel>(communicator.duplicate(), program.threaded));
  }

  void run() {
    for (int step = 0; step < program_.steps; ++step) {
      if (step == 1 && program_.replan) reducer_->replan(agreed_order());
      reducer_->begin_step();
      for (int micro = 0; micro < program_.micro_steps; ++micro) {
        std::optional<Reducer::NoSync> no_sync;
        if (micro + 1 < program_.micro_steps) no_sync.emplace(*reducer_);
        backward(step, micro);
      }
      reducer_->finish();
      check(step, reducer_->missing());
    }
  }

  std::string wrong;  // empty: all as the oracle says

 private:
  // Rank 0's order of the first step goes to all, as the engine does it.
  std::vector<int> agreed_order() {
    auto order = reducer_->seen_order();
    communicator_.broadcast(std::span(order), 0);
    return order;
  }

  void backward(int step, int micro) {
    const auto& parameters = reducer_->parameters();
    std::vector<std::size_t> order(parameters.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    const torch::NoGradGuard no_grad;
    for (const auto p : order) {
      if (rank_ == program_.thrower && calls_++ == program_.throw_at)
        throw std::runtime_error("planned");
      if (below(random_, 4) == 0) std::this_thread::yield();
      const auto how = program_.fire(rank_, step, micro, p);
      if (how == Fire::kNever) continue;
      auto& gradient = parameters[p].tensor.mutable_grad();
      const auto value = program_.value(rank_, step, micro, p);
      if (how == Fire::kInPlace) gradient.add_(value);
      if (how == Fire::kReplaced) gradient = torch::full_like(parameters[p].tensor, value);
      if (how == Fire::kUndefined) gradient = torch::Tensor();
      (*torch::autograd::impl::post_acc_grad_hooks(parameters[p].tensor))(parameters[p].tensor);
    }
  }

  void check(int step, const std::vector<int>& missing) {
    const auto& parameters = reducer_->parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      float expected = 0;
      bool mine = false;
      for (int r = 0; r < program_.ranks; ++r) {
        for (int m = 0; m < program_.micro_steps; ++m) {
          const auto how = program_.fire(r, step, m, p);
          const bool adds = how == Fire::kInPlace || how == Fire::kReplaced;
          if (adds) expected += program_.value(r, step, m, p);
          if (adds && r == rank_) mine = true;
        }
      }
      const auto& gradient = parameters[p].tensor.grad();
      const bool listed =
          std::find(missing.begin(), missing.end(), static_cast<int>(p)) != missing.end();
      if (!torch::equal(gradient, torch::full_like(gradient, expected))) note(step, p, "wrong sum");
      if (gradient.strides() != parameters[p].tensor.strides()) note(step, p, "other strides");
      if (listed == mine) note(step, p, mine ? "listed as missing" : "not listed as missing");
    }
  }

  void note(int step, std::size_t p, const char* what) {
    wrong += "rank " + std::to_string(rank_) + " step " + std::to_string(step) + " p" +
             std::to_string(p) + ": " + what + "\n";
  }

  const Program& program_;
  int rank_;
  comm::Communicator& communicator_;
  Random random_;
  std::unique_ptr<Reducer> reducer_;
  int calls_ = 0;
};

// Runs a program; returns what went wrong.
std::string simulate(const Program& program) {
  auto group = comm::make_local_group(program.ranks);
  std::vector<std::string> wrong(group.size());
  std::vector<char> threw(group.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < group.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        SimulatedRank rank(program, static_cast<int>(r), *group[r]);
        try {
          rank.run();
        } catch (const std::exception&) {
          threw[r] = 1;
          try {
            group[r]->abort(ExitCode::kInternal);  // also lets the reducer's thread go
          } catch (const std::exception&) {
          }
        }
        wrong[r] = threw[r] ? "" : rank.wrong;
      } catch (const std::exception& e) {
        threw[r] = 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::string all;
  const bool planned =
      program.thrower >= 0 && program.throw_at < static_cast<int>(program.shapes.size()) *
                                                     program.micro_steps * program.steps;
  for (std::size_t r = 0; r < group.size(); ++r) {
    if (!planned && threw[r]) all += "rank " + std::to_string(r) + " threw\n";
    if (planned && static_cast<int>(r) == program.thrower && !threw[r])
      all += "the planned rank did not throw\n";
    if (!planned) all += wrong[r];
  }
  return all;
}

}  // namespace

TEST_CASE("Thousands of seeded programs reduce to the sum of the ranks' gradients",
          "[parallel][D26]") {
  const bool longer = std::getenv("LOCKSTEP_LONG") != nullptr;
  for (std::uint64_t seed = 1; seed <= (longer ? 40000u : 3000u); ++seed) {
    const auto wrong = simulate(make_program(seed));
    INFO("seed " << seed << "\n" << wrong);
    REQUIRE(wrong.empty());
  }
}

}  // namespace lockstep::parallel
