// Lines to standard error. A reader that does not read never holds up the process: what does not
// fit is left out, counted, and told when there is room again.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace pgflow::log {

class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `told`: the line, with its end, that says how many were left out.
  explicit StderrSink(std::function<std::string(std::uint64_t)> told) : told_(std::move(told)) {}

  // In all; from any thread.
  std::uint64_t left_out() const { return all_left_out_.load(std::memory_order_relaxed); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  bool put(std::string_view line);

  const std::function<std::string(std::uint64_t)> told_;
  std::uint64_t left_out_ = 0;  // and not told yet
  std::atomic<std::uint64_t> all_left_out_{0};
  bool torn_ = false;  // the last line broke off
};

}  // namespace pgflow::log
