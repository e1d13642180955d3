// SPDX-License-Identifier: MIT
// What is saved comes back, and its bytes do not depend on the ranks.
#include <torch/types.h>

#include <cstdlib>

#include "comm/local/local_group.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"
#include "states.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;

namespace {

const Provenance kProvenance{.ranks = 1, .lockstep_version = "0.1.0", .torch_version = "2.15.0"};

// Saved by one rank alone: the oracle for every number of ranks.
std::string serial_bytes(const std::string& folder, std::int64_t step, const State& state) {
  auto alone = comm::make_local_group(1);
  save(folder, step, state, kProvenance, 0, *alone[0]);
  return bytes_of(cat(folder, "/", "step-0000000", step, ".h5"));
}

void bytes_do_not_depend_on_ranks(const State& state) {
  const ScratchFolder folder;
  const auto saved = save((folder / "all").string(), 7, state, kProvenance, 0, world());
  CHECK(saved.file == "step-00000007.h5");
  bool equal = true;
  if (world().rank() == 0) {
    const auto bytes = bytes_of((folder / "all/step-00000007.h5").string());
    CHECK(static_cast<std::int64_t>(bytes.size()) == saved.bytes);
    equal = bytes == serial_bytes((folder / "serial").string(), 7, state);
    // Another heap, another folder, another step's name: the same bytes again.
    const std::vector<std::string> clutter(1000, std::string(500, '\xaa'));
    equal = equal && bytes == serial_bytes((folder / "again").string(), 8, state);
  }
  REQUIRE(all_ranks(equal));
}

}  // namespace

TEST_CASE("any number of ranks writes the same bytes", "[checkpoint][mpi][C13]") {
  bytes_do_not_depend_on_ranks(full_state(1));
  bytes_do_not_depend_on_ranks(small_state(2));  // one block: the other ranks have nothing to write
  bytes_do_not_depend_on_ranks({});
}

TEST_CASE("a state comes back bit for bit", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  for (const auto& state : {full_state(3), small_state(4), State{}}) {
    save(folder.path().string(), 1, state, kProvenance, 0, world());
    const auto found = find_newest(folder.path().string(), world());
    REQUIRE(all_ranks(found.step == 1 && found.refused.empty()));
    auto loaded = blank_like(state);
    std::vector<void*> places;
    for (const auto& named : loaded.tensors) places.push_back(named.tensor.data_ptr());
    load(found.path, loaded, world());
    CHECK(same_bits(loaded, state));
    for (std::size_t i = 0; i < places.size(); ++i)
      CHECK(loaded.tensors[i].tensor.data_ptr() == places[i]);
    REQUIRE(all_ranks(true));
  }
}

TEST_CASE("parameters that require gradients are read and written in place", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  auto weight = torch::rand({5, 6}, torch::requires_grad());
  const auto before = weight.detach().clone();
  auto strided =
      torch::rand({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast).requires_grad_();
  const auto strided_before = strided.detach().clone();
  world().broadcast(std::span(before.data_ptr<float>(), 30), 0);
  world().broadcast(std::span(strided_before.data_ptr<float>(), 120), 0);
  State state{.tensors = {{"model/strided", strided}, {"model/weight", weight}}, .scalars = {}};
  save(folder.path().string(), 1, state, kProvenance, 0, world());
  const torch::NoGradGuard no_grad;
  weight.zero_();
  strided.zero_();
  load((folder / "step-00000001.h5").string(), state, world());
  CHECK(weight.equal(before));
  CHECK(strided.equal(strided_before));
  CHECK(strided.is_contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK((weight.is_leaf() && weight.requires_grad()));
}

TEST_CASE("info's list and scalars are those of the state", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  const auto state = full_state(5);
  save(folder.path().string(), 1, state, kProvenance, 0, world());
  if (world().rank() == 0) {
    const auto path = (folder / "step-00000001.h5").string();
    const auto entries = list(path);
    CHECK(entries.size() == state.tensors.size() + state.scalars.size() + 2);
    const auto entry = std::find_if(entries.begin(), entries.end(), [](const auto& e) {
      return e.name == "model/conv1.weight";
    });
    REQUIRE(entry != entries.end());
    CHECK(entry->dtype == "fp32");
    CHECK(entry->shape == "[64, 3, 7, 7]");
    CHECK(entry->bytes == 64 * 3 * 7 * 7 * 4);
    const auto scalars = read_scalars(path);
    CHECK(scalars.at("meta/format") == Scalar("lockstep checkpoint"));
    CHECK(scalars.at("meta/format_version") == Scalar(std::int64_t{1}));
    CHECK(scalars.at("meta/model") == Scalar("cnn"));
  }
  REQUIRE(all_ranks(true));
}

TEST_CASE("differences from the model are listed all at once and nothing is changed",
          "[checkpoint][mpi][C09][C10]") {
  const ScratchFolder folder;
  const auto f32 = torch::kFloat32;
  const auto path = (folder / "step-00000001.h5").string();
  const State saved{.tensors = {{"model/bias", torch::ones({1}, f32)},
                                {"model/gone", torch::ones({2}, f32)},
                                {"model/same", torch::ones({3}, f32)},
                                {"model/type", torch::ones({4}, torch::kFloat64)},
                                {"model/weight", torch::ones({64, 1, 3, 3}, f32)}},
                    .scalars = {}};
  save(folder.path().string(), 1, saved, kProvenance, 0, world());
  State model{.tensors = {{"model/bias", torch::zeros({64}, f32)},
                          {"model/new", torch::zeros({2}, f32)},
                          {"model/same", torch::zeros({3}, f32)},
                          {"model/type", torch::zeros({4}, f32)},
                          {"model/weight", torch::zeros({32, 1, 3, 3}, f32)}},
              .scalars = {{"counters/step", std::int64_t{9}}}};
  const std::vector<std::string> lines = {
      "5 differences",
      "\n  model/bias: in the file fp32 [1], in the model fp32 [64]\n",
      "\n  model/gone: in the file fp32 [2], not in the model\n",
      "\n  model/new: not in the file, in the model fp32 [2]\n",
      "\n  model/type: in the file fp64 [4], in the model fp32 [4]\n",
      "\n  model/weight: in the file fp32 [64, 1, 3, 3], in the model fp32 [32, 1, 3, 3]",
  };
  for (const auto& line : lines) {
    REQUIRE(expect_error(
        world(),
        [&] { load(path, model, world()); },
        ExitCode::kBadData,
        line));
  }
  for (const auto& named : model.tensors)
    CHECK(named.tensor.count_nonzero().item<std::int64_t>() == 0);
  CHECK(model.scalars.size() == 1);
}

TEST_CASE("bugs of the caller are found before anything is written", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  const auto refused = [&](const State& state, const std::string& text) {
    return expect_error(
        world(),
        [&] { save((folder / "new").string(), 1, state, kProvenance, 0, world()); },
        ExitCode::kInternal,
        text);
  };
  const auto one = torch::ones({1});
  for (const char* name : {"", "/a", "a/", "a//b", "a/../b", "."})
    REQUIRE(refused({.tensors = {{name, one}}, .scalars = {}}, "name in a checkpoint"));
  REQUIRE(refused({.tensors = {{"a", one}, {"a", one}}, .scalars = {}}, "two tensors named a"));
  REQUIRE(refused({.tensors = {{"a", one}, {"a-b", one}, {"a/b", one}}, .scalars = {}},
                  "'a' is also the group of 'a/b'"));
  REQUIRE(
      refused({.tensors = {{"a", one}}, .scalars = {{"a", 1.0}}}, "a tensor and a scalar named a"));
  REQUIRE(refused({.tensors = {{"a", torch::ones({1}, torch::kComplexFloat)}}, .scalars = {}},
                  "tensor a is"));
  if (world().ranks() > 1) {
    const State mine{.tensors = {{"a", torch::ones({1 + world().rank()})}}, .scalars = {}};
    REQUIRE(expect_error(
        world(),
        [&] { save((folder / "new").string(), 1, mine, kProvenance, 0, world()); },
        ExitCode::kConfig,
        "of a checkpoint"));
  }
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_CASE("h5dump prints a checkpoint", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  save(folder.path().string(), 1, full_state(6), kProvenance, 0, world());
  bool good = true;
  if (world().rank() == 0 && std::system("command -v h5dump > /dev/null 2>&1") == 0) {
    const auto dump = [&](const std::string& options) {
      const auto out = (folder / "dump").string();
      good = good && std::system(cat("h5dump ",
                                     options,
                                     " ",
                                     (folder / "step-00000001.h5").string(),
                                     " > ",
                                     out,
                                     " 2>&1")
                                     .c_str()) == 0;
      return bytes_of(out);
    };
    CHECK_THAT(dump("-H"),
               Catch::Contains("GROUP \"optim\"") && Catch::Contains("DATASET \"conv1.weight\"") &&
                   Catch::Contains("DATASPACE  SIMPLE { ( 64, 3, 7, 7 )"));
    CHECK_THAT(dump("-d /meta/utf8"),
               Catch::Contains("CSET H5T_CSET_UTF8") && Catch::Contains("STRSIZE 7;"));
    CHECK_THAT(dump("-d /meta/model"), Catch::Contains("(0): \"cnn\""));
    CHECK_THAT(dump("-d /model/bf16"), Catch::Contains("16-bit little-endian floating-point"));
  }
  REQUIRE(all_ranks(good));
}

TEST_CASE("bf16 and fp16 have the values that HDF5 prints", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  const std::vector<float> values = {1.5f, -0.25f, 384.0f};
  const State state{.tensors = {{"b", torch::tensor(values).to(torch::kBFloat16)},
                                {"h", torch::tensor(values).to(torch::kFloat16)}},
                    .scalars = {}};
  save(folder.path().string(), 1, state, kProvenance, 0, world());
  if (world().rank() == 0 && std::system("command -v h5dump > /dev/null 2>&1") == 0) {
    for (const char* name : {"b", "h"}) {
      const auto out = (folder / "dump").string();
      REQUIRE(std::system(cat("h5dump -d /",
                              name,
                              " ",
                              (folder / "step-00000001.h5").string(),
                              " > ",
                              out,
                              " 2>&1")
                              .c_str()) == 0);
      CHECK_THAT(bytes_of(out), Catch::Contains("1.5, -0.25, 384"));
    }
  }
  REQUIRE(all_ranks(true));
}
