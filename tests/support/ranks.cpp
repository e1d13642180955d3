// SPDX-License-Identifier: MIT
#include "support/ranks.hpp"

#include <mpi.h>

#include <cstdlib>
#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/session.hpp"

namespace lockstep::test {
namespace {

/// Empty where `work` threw what it should, else what happened instead.
std::string outcome_of(const std::function<void()>& work,
                       ExitCode code,
                       const std::string& fragment,
                       std::string& text) {
  try {
    work();
  } catch (const Error& error) {
    text = error.what();
    if (error.code() != code) {
      return cat("exit code ",
                 static_cast<int>(error.code()),
                 " instead of ",
                 static_cast<int>(code),
                 ": ",
                 text);
    }
    return text.find(fragment) == std::string::npos ? cat("'", fragment, "' is not in: ", text)
                                                    : "";
  } catch (const std::exception& error) {
    return cat("an exception that is no lockstep::Error: ", error.what());
  }
  return "no exception";
}

}  // namespace

comm::Communicator& world() {
  static std::unique_ptr<comm::Communicator> communicator = [] {
    at_end([] { communicator.reset(); });
    return comm::make_mpi_communicator(MPI_COMM_WORLD);
  }();
  return *communicator;
}

bool all_ranks(bool condition) {
  return world().all_reduce<std::int32_t>(condition, comm::Op::kMin) != 0;
}

bool expect_error(comm::Communicator& communicator,
                  const std::function<void()>& work,
                  ExitCode code,
                  const std::string& fragment) {
  std::string text;
  std::string wrong = outcome_of(work, code, fragment, text);
  const auto texts = communicator.all_gather(text);
  if (wrong.empty() && text != texts[0])
    wrong = cat("rank 0 has another text: '", texts[0], "' instead of '", text, "'");
  if (!wrong.empty()) UNSCOPED_INFO(wrong);
  return communicator.all_reduce<std::int32_t>(wrong.empty(), comm::Op::kMin) != 0;
}

ScratchFolder::ScratchFolder() {
  std::string name;
  if (world().rank() == 0) {
    name = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw CannotCreateError("cannot make a folder like " + name);
    at_end([name] {
      std::error_code ignored;
      std::filesystem::remove_all(name, ignored);
    });
  }
  path_ = world().broadcast(name, 0);
}

}  // namespace lockstep::test
