"""Serves a step of a flow file in mode "persistent". One file, no dependencies: copy it.

    from pgflow_step import serve

    def classify(task):
        task.log("info", "classifying", thread=task.input["thread_id"])
        return {"route": "help"}

    serve(classify, concurrency=4)

The handler runs in up to `concurrency` threads. What it returns is the step's output; what it raises
fails the attempt, PermanentFailure for good. What it prints goes to the worker's log.
"""

import json
import os
import sys
import threading
import traceback

PROTOCOL = 1
_EX_CONFIG = 78


class PermanentFailure(Exception):
    """The attempt failed, and no further attempt can help."""


class Cancelled(Exception):
    """The handler noticed a cancel: see Task.raise_if_cancelled()."""


class Task:
    """The task in hand."""

    def __init__(self, message, send):
        self.input = message["input"]
        self.flow_input = message.get("flowInput")  # in steps that are no root
        self.flow_slug = message["flowSlug"]
        self.step_slug = message["stepSlug"]
        self.run_id = message["runId"]
        self.task_index = message["taskIndex"]
        self.msg_id = int(message["msgId"])
        self.attempt = message["attempt"]
        self.max_attempts = message["maxAttempts"]
        self.timeout = message.get("timeoutMs", 0) / 1000 or None  # seconds left when it came
        self.cancel_reason = None  # "timeout", "shutdown", "silent" or "cancelled"
        self._id = message["id"]
        self._send = send
        self._cancelled = threading.Event()

    @property
    def cancelled(self):
        return self._cancelled.is_set()

    def raise_if_cancelled(self):
        if self.cancelled:
            raise Cancelled(self.cancel_reason)

    def wait(self, seconds):
        """Sleeps, but not into a cancel. True when the task is cancelled."""
        return self._cancelled.wait(seconds)

    def heartbeat(self):
        """Tells the worker that the task is alive, for handlers with a `heartbeat` limit."""
        self._send({"type": "heartbeat", "id": self._id})

    def log(self, level, message, **fields):
        """A line of the worker's log; level is debug, info, warn or error."""
        self._send(
            {"type": "log", "id": self._id, "level": level, "message": message, "fields": fields}
        )

    def _cancel(self, reason):
        self.cancel_reason = reason
        self._cancelled.set()


def serve(handler, concurrency=1):
    """Runs handler(task) for each task until the worker ends the input."""
    # Prints of the handler, and of programs that it starts, must not get between the lines.
    lines = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    lock = threading.Lock()
    running = {}

    def send(message):
        rest = memoryview((json.dumps(message, allow_nan=False) + "\n").encode())
        with lock:
            while rest:
                rest = rest[lines.write(rest) :]

    def run(task):
        try:
            send({"type": "result", "id": task._id, "output": handler(task)})
        except Exception as error:
            if not isinstance(error, Cancelled):
                traceback.print_exc()
            send(
                {
                    "type": "error",
                    "id": task._id,
                    "message": f"{type(error).__name__}: {error}",
                    "retryable": not isinstance(error, PermanentFailure),
                }
            )
        finally:
            running.pop(task._id, None)

    threads = []
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["type"] == "hello":
            if message["protocol"] != PROTOCOL:
                print(f"pgflow_step speaks protocol {PROTOCOL} only", file=sys.stderr)
                sys.exit(_EX_CONFIG)
            send({"type": "ready", "protocol": PROTOCOL, "concurrency": concurrency})
        elif message["type"] == "task":
            task = Task(message, send)
            running[task._id] = task
            threads = [thread for thread in threads if thread.is_alive()]
            threads.append(threading.Thread(target=run, args=(task,)))
            threads[-1].start()
        elif message["type"] == "cancel":
            task = running.get(message["id"])
            if task:
                task._cancel(message["reason"])
    for thread in threads:
        thread.join()
