// SPDX-License-Identifier: MIT
#include "core/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/text.hpp"

namespace lockstep::log {
namespace {

constexpr const char* kPattern = "%H:%M:%S %^%l%$: %v";  // "16:29:17 error: ..."

spdlog::logger& sink() {
  static const auto logger = [] {
    auto made =
        std::make_shared<spdlog::logger>("lockstep",
                                         std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern(kPattern);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

}  // namespace

// Rank 0 speaks for the job: agreed errors name the guilty rank themselves.
void set_rank(int rank) {
  if (rank > 0) sink().set_pattern(cat("%H:%M:%S %^%l%$: [rank ", rank, "] %v"));
  sink().set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
}

void info(std::string_view text) { sink().info("{}", text); }
void warn(std::string_view text) { sink().warn("{}", text); }
void error(std::string_view text) { sink().error("{}", text); }

}  // namespace lockstep::log
