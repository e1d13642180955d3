// SPDX-License-Identifier: MIT
#include "comm/agree.hpp"

#include <algorithm>
#include <map>

#include "core/digest.hpp"
#include "core/text.hpp"

namespace lockstep::comm {

Failure describe_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& e) {
    return {e.code(), e.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::kInternal, "out of memory"};
  } catch (const std::exception& e) {
    return {ExitCode::kInternal, e.what()};
  } catch (...) {
    return {ExitCode::kInternal, "an exception of an unknown type"};
  }
}

void agree(Communicator& communicator, const std::exception_ptr& mine) {
  const int nobody = communicator.ranks();
  const int guilty =
      communicator.all_reduce(std::int32_t{mine ? communicator.rank() : nobody}, Op::kMin);
  if (guilty == nobody) return;
  const Failure local = mine ? describe_failure(mine) : Failure{};
  std::int32_t code = static_cast<std::int32_t>(local.code);
  communicator.broadcast(std::span(&code, 1), guilty);
  const std::string text = communicator.broadcast(local.text, guilty);
  throw AgreedError(static_cast<ExitCode>(code),
                    communicator.ranks() > 1 ? cat("[rank ", guilty, "] ", text) : text);
}

void agree_equal(Communicator& communicator, std::uint64_t value, const std::string& what) {
  const auto all = communicator.all_gather(value);
  std::map<std::uint64_t, std::vector<std::string>> groups;
  for (std::size_t r = 0; r < all.size(); ++r) groups[all[r]].push_back(std::to_string(r));
  if (groups.size() == 1) return;
  std::string text = cat(what, " differ between ranks:");
  for (const auto& [digest, ranks] : groups)
    text += cat(" ranks ", join(ranks, ","), " have ", hex(digest), ";");
  throw AgreedError(ExitCode::kConfig,
                    cat(text, " start all ranks with the same options and the same program"));
}

}  // namespace lockstep::comm
