// uv_queue_work behind a C++ door.
#include "uv/background.hpp"

#include <uv.h>

#include <memory>

#include "base/bug.hpp"

namespace pgflow::uv {
namespace {

struct Job {
  uv_work_t request{};
  Loop* loop = nullptr;
  int* unanswered = nullptr;
  std::function<void()> job;
  std::function<void()> done;
};

void on_work(uv_work_t* request) noexcept {
  // noexcept: an exception of the job has no caller to go to, and ends the process.
  static_cast<Job*>(request->data)->job();
}

void on_done(uv_work_t* request, int) noexcept {
  const std::unique_ptr<Job> job(static_cast<Job*>(request->data));
  --*job->unanswered;
  guarded(*job->loop, job->done);
}

}  // namespace

void Background::run(Loop& loop, std::function<void()> job, std::function<void()> done) {
  auto* work = new Job{
      .loop = &loop,
      .unanswered = &loop.jobs_,
      .job = std::move(job),
      .done = std::move(done),
  };
  work->request.data = work;
  check(uv_queue_work(loop.raw(), &work->request, on_work, on_done), "queueing a job");
  ++loop.jobs_;
}

}  // namespace pgflow::uv
