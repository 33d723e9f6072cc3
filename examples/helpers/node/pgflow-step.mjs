// Serves a step of a flow file in mode "persistent". One file, no dependencies: copy it.
//
//   import { serve } from "./pgflow-step.mjs";
//
//   serve(async (task) => {
//     task.log("info", "classifying", { thread: task.input.thread_id });
//     return { route: "help" };
//   }, { concurrency: 4 });
//
// What the handler returns is the step's output; what it throws fails the attempt, PermanentFailure for good.
// What it prints goes to the worker's log.

const PROTOCOL = 1;
const EX_CONFIG = 78;

// The attempt failed, and no further attempt can help.
export class PermanentFailure extends Error {}

// The task in hand: input, flowInput (in steps that are no root), flowSlug, stepSlug, runId, taskIndex, msgId (a
// string: it may exceed 2^53), attempt, maxAttempts, timeoutMs (left when it came).
export class Task {
  #send;
  #id;
  #cancel = new AbortController();

  constructor({ type: _, id, ...members }, send) {
    Object.assign(this, members);
    this.#id = id;
    this.#send = send;
  }

  // Aborts on a cancel; its reason is "timeout", "shutdown", "silent" or "cancelled". Give it to fetch(), timers, …
  get signal() {
    return this.#cancel.signal;
  }

  // Tells the worker that the task is alive, for handlers with a `heartbeat` limit.
  heartbeat() {
    this.#send({ type: "heartbeat", id: this.#id });
  }

  // A line of the worker's log; level is debug, info, warn or error.
  log(level, message, fields = {}) {
    this.#send({ type: "log", id: this.#id, level, message, fields });
  }

  cancel(reason) {
    this.#cancel.abort(reason);
  }
}

// Runs handler(task) for each task until the worker ends the input.
export function serve(handler, { concurrency = 1 } = {}) {
  // Prints of the handler must not get between the lines.
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const send = (message) => write(`${JSON.stringify(message)}\n`);
  const running = new Map();

  const run = async (id, task) => {
    try {
      // JSON knows no undefined.
      send({ type: "result", id, output: (await handler(task)) ?? null });
    } catch (error) {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      if (!task.signal.aborted) console.error(error);
      send({ type: "error", id, message, retryable: !(error instanceof PermanentFailure) });
    } finally {
      running.delete(id);
    }
  };

  const hear = (message) => {
    if (message.type === "hello") {
      if (message.protocol !== PROTOCOL) {
        console.error(`pgflow-step speaks protocol ${PROTOCOL} only`);
        process.exit(EX_CONFIG);
      }
      send({ type: "ready", protocol: PROTOCOL, concurrency });
    } else if (message.type === "task") {
      const task = new Task(message, send);
      running.set(message.id, task);
      run(message.id, task);
    } else if (message.type === "cancel") {
      running.get(message.id)?.cancel(message.reason);
    }
  };

  // Not node:readline: it also ends lines at U+2028, which JSON strings may hold.
  const pieces = [];
  process.stdin.on("data", (chunk) => {
    for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
      pieces.push(chunk.subarray(0, end));
      hear(JSON.parse(Buffer.concat(pieces.splice(0)).toString()));
    }
    pieces.push(chunk);
  });
}
