// Thousands of random operations from several sessions, some with their transactions open side by
// side: after each commit the database says what the model says. PGFLOW_MODEL_SEED runs one seed,
// PGFLOW_MODEL_OPS sets the number of operations.
#include <poll.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <sstream>

#include "lifecycle.hpp"
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/sql_session.hpp"

namespace pgflow::test {
namespace {

using Rows = SqlSession::Rows;

struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

// What a statement brought: rows, or the SQLSTATE of its error.
struct Answer {
  Rows rows;
  std::string sqlstate;
};

// One operation: its statement, what its answer must be (noting what it got hold of), and what that
// does to the model once it is committed. `locked` are the tasks that another open transaction has
// changed: a claim or a recovery leaves those alone.
struct Operation {
  std::string sql;
  std::function<void(const Lifecycle&, const Answer&, const std::set<TaskKey>& locked)> check;
  std::function<void(Lifecycle&)> effect;
  std::string deletes{};  // the flow whose queues nobody can read while the transaction is open
};

class Driver {
 public:
  Driver(unsigned seed, int operations) : random_(seed), seed_(seed), operations_(operations) {
    std::ostringstream invariants;
    invariants << std::ifstream(PGFLOW_SOURCE_DIR "/tests/support/invariants.psql").rdbuf();
    watch_.rows(invariants.str());
    watch_.rows("select pgflow.configure_events('{table}')");
    for (int i = 0; i < 4; ++i) workers_.push_back(new_worker());
  }

  void run() {
    for (done_ = 0; done_ < operations_; ++done_) {
      while (model_.flows.size() < 3) compile(new_flow());
      if (one_in(4)) {
        overlapping();
      } else {
        alone();
      }
      if (done_ % 200 == 0) check_everything();
    }
    check_everything();
  }

  std::string history() const {
    std::string text = "PGFLOW_MODEL_SEED=" + std::to_string(seed_) + ", operation " +
                       std::to_string(done_) + "\n";
    for (const std::string& line : history_) text += "  " + line + "\n";
    return text;
  }

 private:
  // Chance --------------------------------------------------------------------------------------

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::size_t>(high - low + 1)));
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  const T& any(const std::vector<T>& of) {
    return of[below(of.size())];
  }

  Json small_json() {
    switch (below(4)) {
      case 0:
        return Json{};
      case 1:
        return Json::number(between(0, 2));
      case 2:
        return Json::object({{"k", Json::number(between(0, 1))}});
      default:
        return array();
    }
  }
  Json array() {
    std::vector<Json> items;
    for (int n = between(0, 3); n > 0; --n) items.push_back(Json::number(between(0, 2)));
    return Json::array(std::move(items));
  }

  // Definitions ---------------------------------------------------------------------------------

  FlowDefinition new_flow() {
    FlowDefinition flow;
    do flow.slug = "flow" + std::to_string(below(6));
    while (model_.flows.contains(flow.slug));
    flow.step_queues = one_in(2);
    const std::vector<std::string> policies{"fail", "skip", "skip-cascade"};
    const int steps = between(1, 7);
    for (int i = 0; i < steps; ++i) {
      StepDefinition step{.slug = std::string(1, static_cast<char>('a' + i))};
      for (std::size_t dep = 0; dep < static_cast<std::size_t>(i); ++dep) {
        if (one_in(3)) step.deps.push_back(dep);
      }
      step.is_map = one_in(3) && step.deps.size() <= 1;
      const Json pattern =
          step.deps.empty()
              ? Json::object({{"k", Json::number(between(0, 1))}})
              : Json::object({{flow.steps[step.deps.front()].slug, pattern_of_output()}});
      if (one_in(6)) step.required = pattern;
      if (one_in(6)) step.forbidden = pattern;
      step.when_unmet = any(policies);
      step.when_exhausted = any(policies);
      step.max_attempts = between(0, 4);
      step.base_delay = one_in(4) ? 1000 : 0;
      step.start_delay = one_in(8) ? 1000 : 0;
      flow.steps.push_back(std::move(step));
    }
    return flow;
  }
  Json pattern_of_output() {
    switch (below(3)) {
      case 0:
        return Json::object({{"k", Json::number(between(0, 1))}});
      case 1:
        return Json::array({Json::number(between(0, 2))});
      default:
        return Json::array({});
    }
  }

  void compile(const FlowDefinition& flow) {
    std::vector<std::string> steps;
    const auto pattern = [](const std::optional<Json>& value) {
      return value ? R"({"defined": true, "value": )" + value->text() + "}"
                   : std::string(R"({"defined": false})");
    };
    for (const StepDefinition& step : flow.steps) {
      std::vector<std::string> deps;
      for (const std::size_t dep : step.deps) deps.push_back('"' + flow.steps[dep].slug + '"');
      steps.push_back(
          R"({"slug": ")" + step.slug + R"(", "stepType": ")" + (step.is_map ? "map" : "single") +
          R"(", "dependencies": [)" + list(deps) + R"(], "whenUnmet": ")" + step.when_unmet +
          R"(", "whenExhausted": ")" + step.when_exhausted + R"(", "requiredInputPattern": )" +
          pattern(step.required) + R"(, "forbiddenInputPattern": )" + pattern(step.forbidden) +
          R"(, "options": {"maxAttempts": )" + std::to_string(step.max_attempts) +
          R"(, "baseDelay": )" + std::to_string(step.base_delay) + R"(, "startDelay": )" +
          std::to_string(step.start_delay) + R"(, "timeout": 3600}})"
      );
    }
    const std::string sql = "select pgflow.ensure_flow_compiled(" + quoted(flow.slug) +
                            R"(, '{"steps": [)" + list(steps) + "]}', " +
                            quoted(flow.step_queues ? "step" : "flow") + ") ->> 'status'";
    note("compile: " + sql);
    if (watch_.value(sql) != "compiled") throw Mismatch("the flow is not compiled");
    model_.flows[flow.slug] = flow;
  }

  std::string new_worker() {
    const std::string id = uuid('a', ++workers_made_);
    watch_.rows("select pgflow.register_worker(" + quoted(id) + ", 'any', 'model')");
    return id;
  }
  static std::string uuid(char kind, int n) {
    const std::string digits = std::to_string(n);
    return std::string(8, kind) + "-0000-4000-8000-" + std::string(12 - digits.size(), '0') +
           digits;
  }

  // Choices -------------------------------------------------------------------------------------

  template <class Wanted>
  std::vector<TaskKey> tasks(Wanted wanted) const {
    std::vector<TaskKey> found;
    for (const auto& [id, run] : model_.runs) {
      for (std::size_t step = 0; step < run.steps.size(); ++step) {
        for (std::size_t index = 0; index < run.steps[step].tasks.size(); ++index) {
          if (wanted(run, run.steps[step].tasks[index])) found.push_back({id, step, index});
        }
      }
    }
    return found;
  }
  std::vector<TaskKey> started_tasks() const {
    return tasks([](const Run&, const Task& task) { return task.status == "started"; });
  }

  std::string step_slug(const TaskKey& key) const {
    return model_.flow_of(model_.runs.at(key.run)).steps[key.step].slug;
  }
  std::string row_of(const TaskKey& key) const {
    return quoted(key.run) + ", " + quoted(step_slug(key)) + ", " + std::to_string(key.index);
  }

  // Mostly a task that is started; sometimes any other.
  std::optional<TaskKey> some_task() {
    auto choice = started_tasks();
    if (choice.empty() || one_in(8)) choice = tasks([](const Run&, const Task&) { return true; });
    if (choice.empty()) return std::nullopt;
    return any(choice);
  }

  std::optional<Json> some_output(const TaskKey& key) {
    const FlowDefinition& flow = model_.flow_of(model_.runs.at(key.run));
    for (const std::size_t child : flow.children(key.step)) {
      if (flow.steps[child].is_map && !one_in(4)) return array();
    }
    if (one_in(6)) return std::nullopt;
    return small_json();
  }

  // Several tasks of one worker, or of anybody when there is no fence.
  std::vector<Settlement> some_items(const std::optional<std::string>& worker) {
    std::vector<Settlement> items;
    for (int n = between(1, 4); n > 0; --n) {
      const auto mine = tasks([&](const Run&, const Task& task) {
        return task.status == "started" && (!worker || task.worker == worker);
      });
      const auto key = mine.empty() || one_in(8) ? some_task() : any(mine);
      if (!key) break;
      if (std::any_of(items.begin(), items.end(), [&](const auto& item) {
            return item.task == *key;
          }))
        continue;
      Settlement item{
          .task = *key, .output = some_output(*key), .error = "no " + std::to_string(done_)
      };
      if (!one_in(3)) item.attempt = model_.find(*key)->attempts + (one_in(10) ? 1 : 0);
      item.permanent = one_in(6);
      items.push_back(std::move(item));
    }
    return items;
  }

  // Operations ----------------------------------------------------------------------------------

  static void refuse(const Answer& answer, const std::string& sqlstate) {
    if (answer.sqlstate != sqlstate) {
      throw Mismatch(
          "expected " + (sqlstate.empty() ? "no error" : sqlstate) + ", got " +
          (answer.sqlstate.empty() ? "none" : answer.sqlstate)
      );
    }
  }

  Operation start() {
    const FlowDefinition& flow = any_flow();
    const std::string slug = flow.slug;
    const std::string id = uuid('b', ++runs_made_);
    const bool fits = !flow.has_root_map() || !one_in(10);
    const Json input = flow.has_root_map() ? (fits ? array() : Json::number(1)) : small_json();
    const auto refused = std::make_shared<bool>(false);
    return {
        "select status, output from pgflow.start_flow(" + quoted(slug) + ", " +
            quoted(input.text()) + ", " + quoted(id) + ")",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          const bool exists = model.flows.contains(slug);
          *refused = !exists || !fits;
          refuse(answer, exists ? (fits ? "" : "P0001") : fits ? "23503" : answer.sqlstate);
          if (*refused) return;
          Lifecycle after = model;
          after.start(id, slug, input);
          if (answer.rows.front().front() != after.runs.at(id).status)
            throw Mismatch("start_flow returned " + answer.rows.front().front());
        },
        [=](Lifecycle& model) {
          if (!*refused) model.start(id, slug, input);
        }
    };
  }

  // The rows of a claim are exactly the given tasks, with their inputs. Columns: run, step, index,
  // input, flow input.
  static std::vector<TaskKey> claimed(
      const Lifecycle& model, const Rows& rows, const std::set<TaskKey>& expected
  ) {
    std::vector<TaskKey> keys;
    for (const auto& row : rows) {
      const FlowDefinition& flow = model.flow_of(model.runs.at(row[0]));
      TaskKey key{row[0], 0, std::stoul(row[2])};
      while (flow.steps[key.step].slug != row[1]) key.step += 1;
      if (!expected.contains(key))
        throw Mismatch("claimed " + row[0] + " " + row[1] + " " + row[2]);
      const auto is = [](const std::optional<Json>& wanted, const std::string& got) {
        return got == (wanted ? wanted->text() : "<null>");
      };
      if (!is(model.input_of(key), row[3]) || !is(model.flow_input_of(key), row[4]))
        throw Mismatch(
            "claimed " + row[0] + " " + row[1] + " with input " + row[3] + ", flow input " + row[4]
        );
      keys.push_back(key);
    }
    if (keys.size() != expected.size())
      throw Mismatch(
          "claimed " + std::to_string(keys.size()) + " of " + std::to_string(expected.size()) +
          " tasks"
      );
    return keys;
  }

  Operation claim() {
    const FlowDefinition& flow = any_flow();
    const std::string slug = flow.slug;
    const std::size_t step = below(flow.steps.size());
    const std::string queue = flow.queue(step);
    const std::string worker = any(workers_);
    std::set<long> ids{999'999};
    const auto all = tasks([&](const Run& run, const Task&) { return run.flow == slug; });
    for (int n = between(1, 8); n > 0 && !all.empty(); --n)
      ids.insert(model_.find(any(all))->message);
    for (const TaskKey& key : all) {  // and, so that work goes on, some that can be had
      if (model_.find(key)->status == "queued" && one_in(2)) ids.insert(model_.find(key)->message);
    }
    std::vector<std::string> texts;
    for (const long id : ids) texts.push_back(std::to_string(id));
    const auto keys = std::make_shared<std::vector<TaskKey>>();
    return {
        "select run_id, step_slug, task_index, input, flow_input from pgflow.start_tasks(" +
            quoted(slug) + ", array[" + list(texts) + "]::bigint[], " + quoted(worker) + ", " +
            quoted(queue) + ", " + (flow.step_queues ? quoted(flow.steps[step].slug) : "null") +
            ")",
        [=](const Lifecycle& model, const Answer& answer, const std::set<TaskKey>& locked) {
          refuse(answer, "");
          std::set<TaskKey> expected;
          for_each_task_on(model, slug, queue, [&](const TaskKey& key, const Task& task) {
            if (task.status == "queued" && ids.contains(task.message) && !locked.contains(key))
              expected.insert(key);
          });
          *keys = claimed(model, answer.rows, expected);
        },
        [=](Lifecycle& model) {
          for (const TaskKey& key : *keys) model.claim(key, worker);
        }
    };
  }

  Operation read_and_claim() {
    const FlowDefinition& flow = any_flow();
    const std::string slug = flow.slug;
    const std::size_t step = below(flow.steps.size());
    const std::string queue = flow.queue(step);
    const std::string worker = any(workers_);
    const std::size_t qty = below(6) + 1;
    const auto keys = std::make_shared<std::vector<TaskKey>>();
    return {
        "select run_id, step_slug, task_index, input, flow_input from pgflow.read_and_claim(" +
            quoted(queue) + ", " + quoted(slug) + ", " +
            (flow.step_queues ? quoted(flow.steps[step].slug) : "null") + ", " + quoted(worker) +
            ", " + std::to_string(qty) + ")",
        [=](const Lifecycle& model, const Answer& answer, const std::set<TaskKey>& locked) {
          // The flow may be deleted while this call waits for its queue.
          refuse(answer, model.flows.contains(slug) ? "" : "42P01");
          std::map<long, TaskKey> visible;
          for_each_task_on(model, slug, queue, [&](const TaskKey& key, const Task& task) {
            if (task.in_queue && task.visible && !locked.contains(key)) visible[task.message] = key;
          });
          std::set<TaskKey> expected;
          for (const auto& [id, key] : visible) {
            if (expected.size() < qty) expected.insert(key);
          }
          *keys = claimed(model, answer.rows, expected);
        },
        [=](Lifecycle& model) {
          for (const TaskKey& key : *keys) model.claim(key, worker);
        }
    };
  }

  template <class Visit>
  static void for_each_task_on(
      const Lifecycle& model, const std::string& slug, const std::string& queue, Visit visit
  ) {
    for (const auto& [id, run] : model.runs) {
      if (run.flow != slug) continue;
      for (std::size_t step = 0; step < run.steps.size(); ++step) {
        if (model.flows.at(slug).queue(step) != queue) continue;
        for (std::size_t index = 0; index < run.steps[step].tasks.size(); ++index)
          visit(TaskKey{id, step, index}, run.steps[step].tasks[index]);
      }
    }
  }

  std::optional<Operation> settle_one() {
    const auto key = some_task();
    if (!key) return std::nullopt;
    const bool completes = !one_in(3);
    const Settlement item{
        .task = *key, .output = some_output(*key), .error = "no " + std::to_string(done_)
    };
    const std::string argument =
        completes ? (item.output ? quoted(item.output->text()) : "null") : quoted(item.error);
    const auto counted = std::make_shared<bool>(false);
    return Operation{
        std::string("select status from pgflow.") + (completes ? "complete" : "fail") + "_task(" +
            row_of(*key) + ", " + argument + ")",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          refuse(answer, "");
          Lifecycle after = model;
          *counted =
              (completes ? after.complete({item}, std::nullopt) : after.fail({item}, std::nullopt))
                  .front();
          const Task* task = after.find(*key);
          const Rows expected = task ? Rows{{task->status}} : Rows{};
          if (answer.rows != expected) throw Mismatch("returned another row");
        },
        [=](Lifecycle& model) {
          if (!*counted) return;
          completes ? model.complete({item}, std::nullopt) : model.fail({item}, std::nullopt);
        }
    };
  }

  std::optional<Operation> settle_many() {
    const std::optional<std::string> worker =
        one_in(3) ? std::nullopt : std::optional(any(workers_));
    const auto items = some_items(worker);
    if (items.empty()) return std::nullopt;
    const bool completes = !one_in(3);
    std::vector<std::string> texts;
    for (const Settlement& item : items) {
      std::string text = R"({"run_id": ")" + item.task.run + R"(", "step_slug": ")" +
                         step_slug(item.task) + R"(", "task_index": )" +
                         std::to_string(item.task.index);
      if (item.attempt) text += R"(, "attempt": )" + std::to_string(*item.attempt);
      if (completes && item.output) text += R"(, "output": )" + item.output->text();
      if (!completes) text += R"(, "error": ")" + item.error + '"';
      if (!completes && item.permanent) text += R"(, "permanent": true)";
      texts.push_back(text + "}");
    }
    const auto counted = std::make_shared<std::vector<Settlement>>();
    return Operation{
        std::string("select outcome from pgflow.") + (completes ? "complete" : "fail") +
            "_tasks('[" + list(texts) + "]', " + (worker ? quoted(*worker) : "null") + ")",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          refuse(answer, "");
          Lifecycle after = model;
          counted->clear();
          const auto applied =
              completes ? after.complete(items, worker) : after.fail(items, worker);
          for (std::size_t i = 0; i < items.size(); ++i) {
            const std::string& outcome = answer.rows.at(i).at(0);
            const bool known = model.find(items[i].task);
            if ((outcome == "applied") != applied[i] || (outcome == "unknown") == known)
              throw Mismatch("item " + std::to_string(i) + " is " + outcome);
            if (applied[i]) counted->push_back(items[i]);
          }
        },
        [=](Lifecycle& model) {
          completes ? model.complete(*counted, worker) : model.fail(*counted, worker);
        }
    };
  }

  // The workers of some started tasks fall silent.
  std::optional<Operation> silence() {
    const auto started = started_tasks();
    if (started.empty()) return std::nullopt;
    std::set<TaskKey> keys;
    const bool all = one_in(2);
    for (const TaskKey& key : started) {
      if (all || one_in(3)) keys.insert(key);
    }
    if (keys.empty()) return std::nullopt;
    std::vector<std::string> rows;
    for (const TaskKey& key : keys) rows.push_back("(" + row_of(key) + ")");
    return Operation{
        "update pgflow.step_tasks set queued_at = now() - interval '1 day', started_at = now() - "
        "interval '1 day' where status = 'started' and (run_id, step_slug, task_index) in (" +
            list(rows) + ")",
        [](const Lifecycle&, const Answer& answer, const auto&) { refuse(answer, ""); },
        [=](Lifecycle& model) {
          for (const TaskKey& key : keys) {
            const Task* task = model.find(key);
            if (task && task->status == "started")
              model.runs.at(key.run).steps[key.step].tasks[key.index].silent = true;
          }
        }
    };
  }

  Operation recover() {
    const auto keys = std::make_shared<std::vector<TaskKey>>();
    return {
        "select pgflow.requeue_stalled_tasks()",
        [=](const Lifecycle& model, const Answer& answer, const std::set<TaskKey>& locked) {
          refuse(answer, "");
          keys->clear();
          int requeued = 0;
          for (const auto& [id, run] : model.runs) {
            for (std::size_t step = 0; step < run.steps.size(); ++step) {
              for (std::size_t index = 0; index < run.steps[step].tasks.size(); ++index) {
                const Task& task = run.steps[step].tasks[index];
                const TaskKey key{id, step, index};
                if (task.status != "started" || !task.silent || task.stalled ||
                    !model.is_live(key) || locked.contains(key))
                  continue;
                keys->push_back(key);
                requeued += task.requeued < 3;
              }
            }
          }
          if (answer.rows.front().front() != std::to_string(requeued))
            throw Mismatch(
                "requeued " + answer.rows.front().front() + " of " + std::to_string(requeued)
            );
        },
        [=](Lifecycle& model) {
          for (const TaskKey& key : *keys) model.requeue_stalled(key);
        }
    };
  }

  static std::vector<TaskKey> in_hand(const Lifecycle& model, const std::string& worker) {
    std::vector<TaskKey> keys;
    for (const auto& [id, run] : model.runs) {
      for (std::size_t step = 0; step < run.steps.size(); ++step) {
        for (std::size_t index = 0; index < run.steps[step].tasks.size(); ++index) {
          const Task& task = run.steps[step].tasks[index];
          if (task.status == "started" && !task.stalled && task.worker == worker)
            keys.push_back({id, step, index});
        }
      }
    }
    return keys;
  }
  Operation release_tasks() {
    const std::string worker = any(workers_);
    const auto held = std::make_shared<std::vector<TaskKey>>();
    return {
        "select pgflow.release_tasks(" + quoted(worker) + ")",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          refuse(answer, "");
          *held = in_hand(model, worker);
          const std::string expected = std::to_string(held->size());
          if (answer.rows.front().front() != expected)
            throw Mismatch("gave back " + answer.rows.front().front() + " of " + expected);
        },
        [=](Lifecycle& model) {
          for (const TaskKey& key : *held) model.release(key);
        }
    };
  }

  // A worker dies: what it crashed over is a failed attempt, the rest is given back. Another takes
  // its place.
  Operation release_worker() {
    std::string& place = workers_[below(workers_.size())];
    const std::string worker = place;
    place = new_worker();
    std::set<long> guilty;
    for (const TaskKey& key : in_hand(model_, worker)) {
      if (one_in(2)) guilty.insert(model_.find(key)->message);
    }
    std::vector<std::string> ids;
    for (const long id : guilty) ids.push_back(std::to_string(id));
    const auto held = std::make_shared<std::vector<TaskKey>>();
    return {
        "select pgflow.release_worker(" + quoted(worker) + ", 'crash', array[" + list(ids) +
            "]::bigint[])",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          refuse(answer, "");
          *held = in_hand(model, worker);
          Lifecycle after = model;
          if (answer.rows.front().front() != std::to_string(bury(after, worker, *held, guilty)))
            throw Mismatch("ended " + answer.rows.front().front() + " tasks");
        },
        [=](Lifecycle& model) { bury(model, worker, *held, guilty); }
    };
  }

  static int bury(
      Lifecycle& model,
      const std::string& worker,
      const std::vector<TaskKey>& held,
      const std::set<long>& guilty
  ) {
    std::vector<Settlement> crashes;
    for (const TaskKey& key : held) {
      Task& task = model.runs.at(key.run).steps[key.step].tasks[key.index];
      if (!guilty.contains(task.message)) continue;
      task.crashes += 1;
      crashes.push_back({.task = key, .attempt = task.attempts, .output = {}, .error = "crash"});
    }
    model.fail(crashes, worker);
    int ended = static_cast<int>(crashes.size());
    for (const TaskKey& key : held) {
      if (model.find(key)->status != "started") continue;
      model.release(key);
      ended += 1;
    }
    return ended;
  }

  // An operator takes up some tasks that have stalled for good, and asks for others as well.
  std::optional<Operation> requeue_by_hand() {
    auto keys = tasks([](const Run&, const Task& task) { return task.stalled; });
    while (keys.size() > 3) keys.pop_back();
    if (const auto other = some_task(); other && !std::count(keys.begin(), keys.end(), *other))
      keys.push_back(*other);
    if (keys.empty()) return std::nullopt;
    std::vector<std::string> texts;
    for (const TaskKey& key : keys) {
      texts.push_back(
          R"({"run_id": ")" + key.run + R"(", "step_slug": ")" + step_slug(key) +
          R"(", "task_index": )" + std::to_string(key.index) + "}"
      );
    }
    const auto taken = std::make_shared<std::vector<TaskKey>>();
    return Operation{
        "select outcome from pgflow.requeue_tasks('[" + list(texts) + "]')",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          refuse(answer, "");
          taken->clear();
          for (std::size_t i = 0; i < keys.size(); ++i) {
            const Task* task = model.find(keys[i]);
            const std::string expected = !task                                         ? "unknown"
                                         : !task->is_open() || !model.is_live(keys[i]) ? "late"
                                         : task->stalled                               ? "applied"
                                                                                       : "already";
            if (answer.rows.at(i).at(0) != expected)
              throw Mismatch("requeued by hand: not " + expected);
            if (expected == "applied") taken->push_back(keys[i]);
          }
        },
        [=](Lifecycle& model) {
          for (const TaskKey& key : *taken) model.requeue_by_hand(key);
        }
    };
  }

  std::optional<Operation> cancel() {
    if (model_.runs.empty()) return std::nullopt;
    const std::string id =
        std::next(model_.runs.begin(), static_cast<long>(below(model_.runs.size())))->first;
    return Operation{
        "select status from pgflow.cancel_run(" + quoted(id) + ", 'enough')",
        [=](const Lifecycle& model, const Answer& answer, const auto&) {
          refuse(answer, "");
          const auto run = model.runs.find(id);
          const Rows expected = run == model.runs.end()             ? Rows{}
                                : run->second.status == "completed" ? Rows{{"completed"}}
                                                                    : Rows{{"failed"}};
          if (answer.rows != expected) throw Mismatch("cancel_run returned another row");
        },
        [=](Lifecycle& model) {
          if (model.runs.contains(id)) model.cancel(id, "enough");
        }
    };
  }

  Operation delete_flow() {
    const std::string slug = any_flow().slug;
    return {
        "select pgflow.delete_flow_and_data(" + quoted(slug) + ")",
        [](const Lifecycle&, const Answer& answer, const auto&) { refuse(answer, ""); },
        [=](Lifecycle& model) { model.remove_flow(slug); },
        slug
    };
  }

  const FlowDefinition& any_flow() {
    return std::next(model_.flows.begin(), static_cast<long>(below(model_.flows.size())))->second;
  }

  // Some only `on_its_own`: no call of the API changes a started task like that without holding its
  // run.
  Operation some_operation(bool on_its_own) {
    const auto active =
        std::count_if(model_.runs.begin(), model_.runs.end(), [](const auto& entry) {
          return entry.second.status == "started";
        });
    // In bad weather workers fall silent more often than they settle anything.
    const bool fair = done_ / 50 % 3 != 2;
    while (true) {
      std::size_t dice = below(100);
      const auto falls = [&](std::size_t percent) {
        if (dice < percent) return true;
        dice -= percent;
        return false;
      };
      std::optional<Operation> chosen;
      if (falls(12)) {
        if (active < 12) chosen = start();
      } else if (falls(fair ? 15 : 18)) {
        chosen = claim();
      } else if (falls(fair ? 15 : 18)) {
        chosen = read_and_claim();
      } else if (falls(fair ? 22 : 3)) {
        chosen = settle_one();
      } else if (falls(fair ? 20 : 3)) {
        chosen = settle_many();
      } else if (falls(fair ? 4 : 20)) {
        if (on_its_own) chosen = silence();
      } else if (falls(fair ? 4 : 20)) {
        chosen = recover();
      } else if (falls(2)) {
        chosen = requeue_by_hand();
      } else if (falls(1)) {
        chosen = release_tasks();
      } else if (falls(1)) {
        chosen = cancel();
      } else if (falls(2)) {
        chosen = release_worker();
      } else if (model_.runs.size() > 12 || one_in(20)) {
        chosen = delete_flow();
      }
      if (chosen) return *chosen;
    }
  }

  // Execution -----------------------------------------------------------------------------------

  static Answer answer_of(SqlSession& session) {
    try {
      return {session.finish(), ""};
    } catch (const SqlError& error) {
      if (error.sqlstate() == "40P01" || error.sqlstate().starts_with("XX") ||
          error.sqlstate().starts_with("22"))
        throw Mismatch(error.what());
      return {{}, error.sqlstate()};
    }
  }

  void commit(const Operation& operation) {
    operation.effect(model_);
    compare();
  }

  void alone() {
    const Operation operation = some_operation(true);
    SqlSession& session = *sessions_[below(sessions_.size())];
    note(operation.sql);
    session.send(operation.sql);
    operation.check(model_, answer_of(session), {});
    commit(operation);
  }

  // One transaction stays open; others come, and are done at once or wait for its end. Either way
  // every one of them has the effect it has alone, in the order of the commits.
  void overlapping() {
    const Operation first = some_operation(false);
    SqlSession& holder = *sessions_[below(sessions_.size())];
    note("open: " + first.sql);
    holder.rows("begin");
    holder.send(first.sql);
    const Answer answer = answer_of(holder);
    first.check(model_, answer, {});
    Lifecycle within = model_;
    first.effect(within);
    const std::set<TaskKey> locked = changed_tasks(model_, within);
    deleting_ = first.deletes;

    std::optional<Operation> waiting;
    SqlSession* waiter = nullptr;
    for (int n = between(1, 3); n > 0 && !waiting; --n) {
      const Operation second = some_operation(false);
      SqlSession* session = nullptr;
      do session = sessions_[below(sessions_.size())].get();
      while (session == &holder);
      note("meanwhile: " + second.sql);
      session->send(second.sql);
      if (waits(*session)) {
        note("which waits");
        waiting = second;
        waiter = session;
      } else {
        second.check(model_, answer_of(*session), locked);
        commit(second);
      }
    }

    const bool stands = !one_in(4) && answer.sqlstate.empty();
    note(stands ? "commit" : "rollback");
    holder.rows(stands ? "commit" : "rollback");
    deleting_.clear();
    if (waiting) {
      const Answer late = answer_of(*waiter);
      if (stands) first.effect(model_);
      waiting->check(model_, late, {});
      waiting->effect(model_);
      compare();
    } else if (stands) {
      commit(first);
    } else {
      compare();
    }
  }

  bool waits(SqlSession& session) {
    while (true) {
      if (session.is_done()) return false;
      if (watch_.value(
              "select cardinality(pg_blocking_pids(" + std::to_string(session.backend_pid()) +
              ")) > 0"
          ) == "t")
        return true;
    }
  }

  static std::set<TaskKey> changed_tasks(const Lifecycle& before, const Lifecycle& after) {
    std::set<TaskKey> changed;
    for (const auto& [id, run] : before.runs) {
      const auto old_lines = before.lines({id});
      const auto new_lines = after.lines({id});
      for (std::size_t step = 0; step < run.steps.size(); ++step) {
        for (std::size_t index = 0; index < run.steps[step].tasks.size(); ++index) {
          const std::string name =
              id + " " + before.flow_of(run).steps[step].slug + " " + std::to_string(index);
          const auto now = new_lines.find(name);
          if (now == new_lines.end() || now->second != old_lines.at(name) ||
              before.find({id, step, index})->silent != after.find({id, step, index})->silent)
            changed.insert({id, step, index});
        }
      }
    }
    return changed;
  }

  // Comparison ----------------------------------------------------------------------------------

  void compare() {
    compare_events();
    std::vector<std::string> ids;
    for (const auto& [id, run] : model_.runs) {
      if (run.flow == deleting_) continue;
      if (run.status == "started" || compared_final_.insert(id).second) ids.push_back(id);
    }
    compare_runs(ids);
  }

  void check_everything() {
    std::vector<std::string> ids;
    for (const auto& [id, run] : model_.runs) ids.push_back(id);
    compare_runs(ids);
    if (watch_.value("select count(*) from pgflow.runs") != std::to_string(model_.runs.size()))
      throw Mismatch("another number of runs");
    for (const auto& row : watch_.rows("select t.broken()"))
      throw Mismatch("broken invariant: " + row[0]);
  }

  void compare_runs(const std::vector<std::string>& ids) {
    std::map<std::pair<std::string, std::string>, std::string> messages;
    std::string sql;
    std::set<std::string> queues;
    for (const auto& [slug, flow] : model_.flows) {
      if (slug == deleting_) continue;
      for (std::size_t step = 0; step < flow.steps.size(); ++step) queues.insert(flow.queue(step));
    }
    for (const std::string& queue : queues) {
      sql += (sql.empty() ? "select '" : " union all select '") + queue +
             "', msg_id, case when vt <= clock_timestamp() then 'visible' else 'hidden' end from "
             "pgmq.q_" +
             queue + " union all select '" + queue + "', msg_id, 'archived' from pgmq.a_" + queue;
    }
    if (sql.empty()) return;
    for (const auto& row : watch_.rows(sql)) {
      if (!messages.insert({{row[0], row[1]}, row[2]}).second)
        throw Mismatch("message " + row[1] + " of " + row[0] + " is there and archived");
    }

    std::map<std::string, std::string> actual;
    for (const auto& row : watch_.rows(
             R"(
           with asked as (select unnest('{)" +
             list(ids) + R"(}'::uuid[]) as run_id)
           select run_id::text,
               format('%s, steps left %s, output %s', status, remaining_steps, coalesce(output::text, '-')), null, null
             from pgflow.runs join asked using (run_id)
           union all
           select run_id || ' ' || step_slug,
               format('%s, deps left %s, tasks %s, tasks left %s, output %s, error %s, reason %s', status, remaining_deps,
                 coalesce(initial_tasks::text, '-'),
                 case status when 'failed' then '-' else coalesce(remaining_tasks::text, '-') end,
                 coalesce(output::text, '-'), coalesce(error_message, '-'), coalesce(skip_reason, '-')), null, null
             from pgflow.step_states join asked using (run_id)
           union all
           select run_id || ' ' || step_slug || ' ' || task_index,
               format('%s, attempts %s, requeued %s, crashes %s%s, worker %s, error %s, output %s, message ', status,
                 attempts_count, requeued_count, crash_count,
                 case when permanently_stalled_at is not null then ', stalled' end, coalesce(last_worker_id::text, '-'),
                 coalesce(error_message, '-'), coalesce(output::text, '-')), queue_name, message_id::text
             from pgflow.step_tasks join asked using (run_id))"
         )) {
      if (row[2] == "<null>") {
        actual[row[0]] = row[1];
        continue;
      }
      const auto message = messages.find({row[2], row[3]});
      actual[row[0]] = row[1] + (message == messages.end() ? "gone" : message->second);
      learn_message(row[0], std::stol(row[3]));
    }

    const auto expected = model_.lines(ids);
    if (actual == expected) return;
    std::string difference = "the database differs from the model\n";
    for (const auto& [name, line] : expected) {
      if (!actual.contains(name))
        difference += "  " + name + "\n    model:    " + line + "\n    database: nothing\n";
      else if (actual[name] != line)
        difference +=
            "  " + name + "\n    model:    " + line + "\n    database: " + actual[name] + "\n";
    }
    for (const auto& [name, line] : actual) {
      if (!expected.contains(name))
        difference += "  " + name + "\n    model:    nothing\n    database: " + line + "\n";
    }
    throw Mismatch(difference);
  }

  // A task has one message for its whole life; which one, only the database knows.
  void learn_message(const std::string& line, long message) {
    std::istringstream name(line);
    std::string id, slug;
    std::size_t index = 0;
    name >> id >> slug >> index;
    Run& run = model_.runs.at(id);
    const FlowDefinition& flow = model_.flow_of(run);
    for (std::size_t step = 0; step < flow.steps.size(); ++step) {
      if (flow.steps[step].slug != slug || index >= run.steps[step].tasks.size()) continue;
      long& known = run.steps[step].tasks[index].message;
      if (known != 0 && known != message)
        throw Mismatch("the message of " + line + " is another one");
      known = message;
    }
  }

  // Each event of the model was told once, and in an order that the specification allows.
  void compare_events() {
    std::vector<Event> told;
    for (const auto& row : watch_.rows("with gone as (delete from pgflow.event_log returning id, "
                                       "run_id, event) select run_id, event from gone order by id"))
      told.push_back({row[0], row[1]});
    auto expected = model_.events;
    auto actual = told;
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    model_.events.clear();
    const auto text = [](const std::vector<Event>& events) {
      std::string out;
      for (const Event& event : events) out += "  " + event.run + " " + event.name + "\n";
      return out;
    };
    if (expected != actual)
      throw Mismatch("events expected\n" + text(expected) + "told\n" + text(told));

    const auto place = [&](const std::string& run, const std::string& name) {
      return std::find(told.begin(), told.end(), Event{run, name}) - told.begin();
    };
    const auto before = [&](const std::string& run, const std::string& one, const std::string& other
                        ) {
      const auto first = place(run, one);
      const auto last = place(run, other);
      const auto none = static_cast<long>(told.size());
      if (first != none && last != none && first > last)
        throw Mismatch(other + " was told before " + one + "\n" + text(told));
    };
    for (const Event& event : told) {
      const auto found = model_.runs.find(event.run);
      if (found == model_.runs.end()) continue;
      before(event.run, "run:started", event.name);
      before(event.run, event.name, "run:completed");
      const FlowDefinition& flow = model_.flow_of(found->second);
      for (std::size_t i = 0; i < flow.steps.size(); ++i) {
        const StepState& state = found->second.steps[i];
        if (event.name != "step:" + flow.steps[i].slug + ":completed") {
          if (event.name == "step:" + flow.steps[i].slug + ":failed") {
            const bool violation = state.error->starts_with("[TYPE_VIOLATION]");
            violation ? before(event.run, "run:failed", event.name)
                      : before(event.run, event.name, "run:failed");
          }
          continue;
        }
        for (const std::size_t child : flow.children(i)) {
          // Skipped with another of its dependencies, it waits for none.
          if (found->second.steps[child].skip_reason == "dependency_skipped") continue;
          for (const char* status : {"started", "completed", "skipped", "failed"})
            before(event.run, event.name, "step:" + flow.steps[child].slug + ":" + status);
        }
      }
    }
  }

  void note(const std::string& line) {
    history_.push_back(line);
    if (history_.size() > 25) history_.pop_front();
  }

  std::mt19937_64 random_;
  unsigned seed_;
  int operations_;
  int done_ = 0;
  int runs_made_ = 0;
  int workers_made_ = 0;

  Database database_;
  SqlSession watch_{database_};
  std::vector<std::unique_ptr<SqlSession>> sessions_ = [this] {
    std::vector<std::unique_ptr<SqlSession>> sessions;
    for (int i = 0; i < 4; ++i) sessions.push_back(std::make_unique<SqlSession>(database_));
    return sessions;
  }();

  Lifecycle model_;
  std::vector<std::string> workers_;
  std::string deleting_;
  std::set<std::string> compared_final_;
  std::deque<std::string> history_;
};

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

TEST_CASE("random operations leave the database as the model says") {
  const int seed =
      std::getenv("PGFLOW_MODEL_SEED") ? number_from("PGFLOW_MODEL_SEED", 0) : GENERATE(1, 2, 3);
  Driver driver(static_cast<unsigned>(seed), number_from("PGFLOW_MODEL_OPS", 300));
  try {
    driver.run();
    SUCCEED();
  } catch (const std::exception& error) {
    FAIL(driver.history() << error.what());
  }
}

}  // namespace
}  // namespace pgflow::test
