#include "supervisor/admission.hpp"

#include "support/catch.hpp"
#include "uv/loop.hpp"

using namespace pgflow;
using supervisor::Admission;

TEST_CASE("who wants the database back comes in rounds of 1, 2, 4, …", "[supervisor][admission]") {
  uv::Loop loop;
  std::vector<std::size_t> rounds;
  std::vector<WorkerId> admitted;
  const WorkerId gone = WorkerId::random();
  std::size_t now = 0;
  Admission admission(loop, [&](WorkerId worker_id) {
    if (worker_id == gone) return false;
    ++now;
    admitted.push_back(worker_id);
    return true;
  });
  std::vector<WorkerId> all;
  for (int i = 0; i < 10; ++i) all.push_back(WorkerId::random());
  admission.want(gone);
  for (const WorkerId id : all) admission.want(id);
  admission.want(all[0]);  // asked again: it has its place already
  CHECK(admitted.empty());

  admission.open();
  for (;;) {
    if (now > 0) rounds.push_back(std::exchange(now, 0));
    if (admitted.size() == all.size()) break;
    loop.run_once();
  }
  CHECK(rounds == std::vector<std::size_t>{1, 2, 4, 3});
  CHECK(admitted == all);
}

TEST_CASE("nobody comes while the database is away", "[supervisor][admission]") {
  uv::Loop loop;
  int admitted = 0;
  Admission admission(loop, [&](WorkerId) { return ++admitted > 0; });
  admission.open();
  for (int i = 0; i < 5; ++i) admission.want(WorkerId::random());
  CHECK(admitted == 1);
  admission.close();
  // The next round would have been due.
  loop.run_once();
  admission.want(WorkerId::random());
  CHECK(admitted == 1);
  admission.open();
  CHECK(admitted == 2);
}
