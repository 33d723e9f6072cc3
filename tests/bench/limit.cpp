// limit: what this machine + PostgreSQL can do at best, so that "close to the limit" has a number.
//   limit rtt    CONN               round trip of a prepared SELECT 1 (sync) and of a pipeline of
//   100 limit life   CONN BATCH CLIENTS SECONDS   set-based task life cycles per second (the rows
//   of W1 without any run rows) limit chain  CONN BATCH CLIENTS SECONDS [STEPS]   set-based runs of
//   STEPS (3) chained steps per second: the rows of W2; 1 = W1 limit fork   N median cost of
//   fork+_exit+wait without exec limit spawn  N PROGRAM [ARG..]  median cost of
//   posix_spawn+exec+wait of PROGRAM
// One JSON line per run on stdout.  Own code; needs only libpq.
#include <libpq-fe.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
extern char** environ;
using Clock = std::chrono::steady_clock;
static double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}
static void die(PGconn* c, const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, PQerrorMessage(c));
  std::exit(1);
}
static PGconn* open(const char* s) {
  PGconn* c = PQconnectdb(s);
  if (PQstatus(c) != CONNECTION_OK) die(c, "connect");
  PQclear(PQexec(c, "set client_min_messages=warning"));
  return c;
}
static PGresult* ok(PGconn* c, PGresult* r, const char* what) {
  auto s = PQresultStatus(r);
  if (s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK) die(c, what);
  return r;
}
static void run(PGconn* c, const std::string& q) {
  PQclear(ok(c, PQexec(c, q.c_str()), q.c_str()));
}
static double pct(std::vector<double>& v, double p) {
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<size_t>(p * static_cast<double>(v.size())))];
}

static int rtt(const char* conn) {
  PGconn* c = open(conn);
  PQclear(ok(c, PQprepare(c, "s", "select 1", 0, nullptr), "prepare"));
  std::vector<double> v;
  for (int i = 0; i < 20000; ++i) {
    auto t = Clock::now();
    PQclear(ok(c, PQexecPrepared(c, "s", 0, nullptr, nullptr, nullptr, 0), "exec"));
    v.push_back(since(t) * 1e6);
  }
  std::vector<double> p;
  PQenterPipelineMode(c);
  for (int i = 0; i < 200; ++i) {
    auto t = Clock::now();
    for (int k = 0; k < 100; ++k) PQsendQueryPrepared(c, "s", 0, nullptr, nullptr, nullptr, 0);
    PQpipelineSync(c);
    for (int k = 0; k < 100; ++k) {
      PQclear(PQgetResult(c));
      PQclear(PQgetResult(c));
    }
    PQclear(PQgetResult(c));
    p.push_back(since(t) * 1e6 / 100);
  }
  std::printf(
      "{\"what\":\"rtt\",\"p50_us\":%.1f,\"p99_us\":%.1f,\"pipelined_per_query_us\":%.1f}\n",
      pct(v, .5),
      pct(v, .99),
      pct(p, .5)
  );
  PQfinish(c);
  return 0;
}

// The life of a task in its leanest durable form: a queue row and a task row are inserted; the
// queue row is leased and the task row becomes 'started'; the task row becomes 'completed' with an
// output, the queue row is deleted and an archive row is inserted.  Three transactions per batch.
static int life(const char* conn, int batch, int clients, double seconds) {
  PGconn* c = open(conn);
  run(c, "drop schema if exists lim cascade; create schema lim");
  run(c,
      "create table lim.q(msg_id bigint generated always as identity primary key, read_ct int not "
      "null default 0, "
      "enqueued_at timestamptz not null default now(), vt timestamptz not null default now(), lane "
      "int not null, message jsonb) "
      "with (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0)");
  run(c, "create index on lim.q(lane, msg_id)");
  run(c,
      "create table lim.a(msg_id bigint, read_ct int, enqueued_at timestamptz, archived_at "
      "timestamptz default now(), message jsonb)");
  run(c,
      "create table lim.t(msg_id bigint primary key, status text not null default 'queued', "
      "attempts int not null default 0, "
      "queued_at timestamptz not null default now(), started_at timestamptz, completed_at "
      "timestamptz, output jsonb) with (fillfactor=60)");
  std::atomic<long> done{0};
  std::atomic<bool> stop{false};
  auto t0 = Clock::now();
  std::vector<std::thread> ts;
  for (int k = 0; k < clients; ++k)
    ts.emplace_back([&, k] {
      PGconn* w = open(conn);
      PQclear(
          ok(w,
             PQprepare(
                 w,
                 "ins",
                 "with m as (insert into lim.q(lane,message) select $2::int, "
                 "'{\"run_id\":\"00000000-0000-0000-0000-000000000000\",\"step_slug\":\"a\",\"task_"
                 "index\":0}'::jsonb "
                 "from generate_series(1,$1::int) returning msg_id) insert into lim.t(msg_id) "
                 "select msg_id from m",
                 0,
                 nullptr
             ),
             "p1")
      );
      PQclear(
          ok(w,
             PQprepare(
                 w,
                 "claim",
                 "with c as (select msg_id from lim.q where lane=$2::int and vt<=now() order by "
                 "msg_id limit $1::int for update skip locked), "
                 "u as (update lim.q q set vt=now()+interval '60 s', read_ct=read_ct+1 from c "
                 "where q.msg_id=c.msg_id returning q.msg_id) "
                 "update lim.t t set status='started', attempts=attempts+1, started_at=now() from "
                 "u where t.msg_id=u.msg_id returning t.msg_id",
                 0,
                 nullptr
             ),
             "p2")
      );
      PQclear(
          ok(w,
             PQprepare(
                 w,
                 "done",
                 "with d as (delete from lim.q where msg_id=any($1::bigint[]) returning msg_id, "
                 "read_ct, enqueued_at, message), "
                 "a as (insert into lim.a(msg_id,read_ct,enqueued_at,message) select * from d) "
                 "update lim.t t set status='completed', completed_at=now(), "
                 "output='{\"ok\":true}' from d where t.msg_id=d.msg_id",
                 0,
                 nullptr
             ),
             "p3")
      );
      std::string b = std::to_string(batch), lane = std::to_string(k);
      const char* p[2] = {b.c_str(), lane.c_str()};
      while (!stop) {
        PQclear(ok(w, PQexecPrepared(w, "ins", 2, p, nullptr, nullptr, 0), "ins"));
        PGresult* r = ok(w, PQexecPrepared(w, "claim", 2, p, nullptr, nullptr, 0), "claim");
        int n = PQntuples(r);
        std::string ids = "{";
        for (int i = 0; i < n; ++i) {
          if (i) ids += ',';
          ids += PQgetvalue(r, i, 0);
        }
        ids += '}';
        PQclear(r);
        const char* q[1] = {ids.c_str()};
        PQclear(ok(w, PQexecPrepared(w, "done", 1, q, nullptr, nullptr, 0), "done"));
        done += n;
      }
      PQfinish(w);
    });
  while (since(t0) < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  double s = since(t0);
  long n = done;
  stop = true;
  for (auto& t : ts) t.join();
  double rate = static_cast<double>(n) / s;
  std::printf(
      "{\"what\":\"life\",\"batch\":%d,\"clients\":%d,\"tasks\":%ld,\"runs_per_s\":%.0f,\"tasks_"
      "per_s\":%.0f,\"drain_tasks_per_s\":%.0f}\n",
      batch,
      clients,
      done.load(),
      rate,
      rate,
      rate
  );
  run(c, "drop schema lim cascade");
  PQfinish(c);
  return 0;
}

// The rows that W2 (W1 with one step) must write in any design that keeps a run row, a row per
// step, a row per task, a queue row per task and an archive row per task: hand-written set
// statements that know the shape, so nothing is looked up or decided.
static int chain(const char* conn, int batch, int clients, double seconds, int steps) {
  PGconn* c = open(conn);
  run(c, "drop schema if exists lim cascade; create schema lim");
  run(c,
      "create table lim.run(run_id uuid primary key default gen_random_uuid(), status text not "
      "null default 'started', input jsonb not null default '{}', "
      "output jsonb, remaining_steps int not null default 1, started_at timestamptz not null "
      "default now(), completed_at timestamptz) with (fillfactor=70)");
  run(c,
      "create table lim.st(run_id uuid, step int, status text not null, remaining_deps int not "
      "null, output jsonb, created_at timestamptz not null default now(), "
      "started_at timestamptz, completed_at timestamptz, primary key(run_id, step)) with "
      "(fillfactor=60)");
  run(c,
      "create table lim.t(msg_id bigint primary key, run_id uuid not null, step int not null, "
      "status text not null default 'queued', attempts int not null default 0, "
      "queued_at timestamptz not null default now(), started_at timestamptz, completed_at "
      "timestamptz, output jsonb) with (fillfactor=60)");
  run(c,
      "create table lim.q(msg_id bigint generated always as identity primary key, read_ct int not "
      "null default 0, enqueued_at timestamptz not null default now(), "
      "vt timestamptz not null default now(), lane int not null, message jsonb) with "
      "(fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0)");
  run(c, "create index on lim.q(lane, msg_id)");
  run(c,
      "create table lim.a(msg_id bigint, read_ct int, enqueued_at timestamptz, archived_at "
      "timestamptz default now(), message jsonb)");
  std::atomic<long> done{0};
  std::atomic<bool> stop{false};
  auto t0 = Clock::now();
  std::vector<std::thread> ts;
  for (int k = 0; k < clients; ++k)
    ts.emplace_back([&, k] {
      PGconn* w = open(conn);
      PQclear(PQexec(
          w,
          "set plan_cache_mode=force_generic_plan; set enable_seqscan=off; set enable_nestloop=off"
      ));
      const char* send =
          "m as (insert into lim.q(lane, message) select $1::int, jsonb_build_object('run_id', "
          "run_id, 'step', step) from %n% returning msg_id, message) "
          "insert into lim.t(msg_id, run_id, step) select msg_id, (message->>'run_id')::uuid, "
          "(message->>'step')::int from m";
      auto with = [&](std::string from) {
        std::string q = send;
        q.replace(q.find("%n%"), 3, from);
        return q;
      };
      auto prep = [&](const char* n, const std::string& q) {
        PQclear(ok(w, PQprepare(w, n, q.c_str(), 0, nullptr), n));
      };
      prep(
          "start",
          "with r as (insert into lim.run select from generate_series(1,$2::int) returning "
          "run_id), "
          "s as (insert into lim.st(run_id, step, status, remaining_deps) select run_id, g, case g "
          "when 1 then 'started' else 'created' end, "
          "case g when 1 then 0 else 1 end from r, generate_series(1,$3::int) g returning run_id, "
          "step), f as (select * from s where step=1), " +
              with("f")
      );
      prep(
          "claim",
          "with c as (select msg_id from lim.q where lane=$1::int and vt<=now() order by msg_id "
          "limit $2::int for update skip locked), "
          "u as (update lim.q q set vt=now()+interval '60 s', read_ct=read_ct+1 where "
          "q.msg_id=any((select array_agg(msg_id) from c)::bigint[]) returning q.msg_id) "
          "update lim.t t set status='started', attempts=attempts+1, started_at=now() where "
          "t.msg_id=any((select array_agg(msg_id) from u)::bigint[]) returning t.msg_id, t.run_id"
      );
      std::string end =
          "with d as (delete from lim.q where msg_id=any($2::bigint[]) returning msg_id, read_ct, "
          "enqueued_at, message), "
          "a as (insert into lim.a(msg_id,read_ct,enqueued_at,message) select * from d), "
          "t as (update lim.t set status='completed', completed_at=now(), output='{\"ok\":true}' "
          "where msg_id=any($2::bigint[])), "
          "s as (update lim.st set status='completed', completed_at=now(), output='{\"ok\":true}' "
          "where run_id=any($3::uuid[]) and step=$4::int), ";
      prep(
          "mid",
          end +
              "n as (update lim.st set status='started', remaining_deps=0, started_at=now() where "
              "run_id=any($3::uuid[]) and step=$4::int+1 returning run_id, step), " +
              with("n")
      );
      prep(
          "last",
          end +
              "x as (select $1::int) update lim.run set status='completed', completed_at=now(), "
              "remaining_steps=0, output='{\"c\":{\"ok\":true}}' where run_id=any($3::uuid[])"
      );
      std::string b = std::to_string(batch), lane = std::to_string(k),
                  nsteps = std::to_string(steps);
      while (!stop) {
        const char* p[3] = {lane.c_str(), b.c_str(), nsteps.c_str()};
        PQclear(ok(w, PQexecPrepared(w, "start", 3, p, nullptr, nullptr, 0), "start"));
        for (int step = 1; step <= steps; ++step) {
          PGresult* r = ok(w, PQexecPrepared(w, "claim", 2, p, nullptr, nullptr, 0), "claim");
          std::string ids = "{", runs = "{", st = std::to_string(step);
          for (int i = 0; i < PQntuples(r); ++i) {
            if (i) {
              ids += ',';
              runs += ',';
            }
            ids += PQgetvalue(r, i, 0);
            runs += PQgetvalue(r, i, 1);
          }
          PQclear(r);
          ids += '}';
          runs += '}';
          const char* q[4] = {lane.c_str(), ids.c_str(), runs.c_str(), st.c_str()};
          PQclear(ok(
              w, PQexecPrepared(w, step < steps ? "mid" : "last", 4, q, nullptr, nullptr, 0), "done"
          ));
        }
        done += batch;
      }
      PQfinish(w);
    });
  while (since(t0) < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  double s = since(t0);
  long n = done;
  stop = true;
  for (auto& t : ts) t.join();
  std::printf(
      "{\"what\":\"chain\",\"steps\":%d,\"batch\":%d,\"clients\":%d,\"tasks\":%ld,\"runs_per_s\":%."
      "0f,\"tasks_per_s\":%.0f,\"drain_tasks_per_s\":%.0f}\n",
      steps,
      batch,
      clients,
      steps * done.load(),
      static_cast<double>(n) / s,
      steps * static_cast<double>(n) / s,
      steps * static_cast<double>(n) / s
  );
  run(c, "drop schema lim cascade");
  PQfinish(c);
  return 0;
}

static int spawn(int n, char** argv) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) {
    auto t = Clock::now();
    pid_t p;
    if (posix_spawn(&p, argv[0], nullptr, nullptr, argv, environ) != 0) {
      std::perror("spawn");
      return 1;
    }
    int st;
    waitpid(p, &st, 0);
    v.push_back(since(t) * 1e6);
  }
  rusage u{};
  getrusage(RUSAGE_CHILDREN, &u);
  std::printf(
      "{\"what\":\"spawn\",\"program\":\"%s\",\"p50_us\":%.0f,\"p99_us\":%.0f,\"child_maxrss_kb\":%"
      "ld}\n",
      argv[0],
      pct(v, .5),
      pct(v, .99),
      u.ru_maxrss
  );
  return 0;
}

// fork without exec from this process (libpq already linked and relocated): what a zygote would pay
static int forks(int n) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) {
    auto t = Clock::now();
    pid_t p = fork();
    if (p == 0) _exit(0);
    int st;
    waitpid(p, &st, 0);
    v.push_back(since(t) * 1e6);
  }
  std::printf("{\"what\":\"fork\",\"p50_us\":%.0f,\"p99_us\":%.0f}\n", pct(v, .5), pct(v, .99));
  return 0;
}

int main(int argc, char** argv) {
  std::string m = argc > 1 ? argv[1] : "";
  if (m == "rtt" && argc == 3) return rtt(argv[2]);
  if (m == "life" && argc == 6)
    return life(argv[2], std::atoi(argv[3]), std::atoi(argv[4]), std::atof(argv[5]));
  if (m == "chain" && argc >= 6)
    return chain(
        argv[2],
        std::atoi(argv[3]),
        std::atoi(argv[4]),
        std::atof(argv[5]),
        argc > 6 ? std::atoi(argv[6]) : 3
    );
  if (m == "spawn" && argc >= 4) return spawn(std::atoi(argv[2]), argv + 3);
  if (m == "fork" && argc == 3) return forks(std::atoi(argv[2]));
  std::fprintf(
      stderr,
      "usage: limit rtt CONN | life CONN BATCH CLIENTS SECONDS | chain CONN BATCH CLIENTS SECONDS "
      "[STEPS] | spawn N PROGRAM [ARG..] | fork N\n"
  );
  return 2;
}
