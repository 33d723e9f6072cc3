"""A persistent command that does what its input says; PROBE says how it starts. Speaks the protocol by hand."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

start = os.environ.get("PROBE", "")
concurrency = int(os.environ.get("PROBE_CONCURRENCY", "1"))
lock = threading.Lock()
cancels = {}


def say(message):
    with lock:
        sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        sys.stdout.flush()


def act(task):
    id, order = task["id"], task["input"]
    what = order.get("act", "echo")
    if what == "echo":
        say({"type": "result", "id": id, "output": {"pid": os.getpid(), "task": task}})
    elif what == "raw":
        say(order["line"].replace("ID", id))
    elif what == "error":
        say({"type": "error", "id": id, **order["answer"]})
    elif what == "die":
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "exit":
        os._exit(order["code"])
    elif what == "log":
        say({"type": "log", "id": id, "level": "warn", "message": "hello", "fields": {"a": 1, "b": "x"}})
        say({"type": "result", "id": id, "output": None})
    elif what == "beat":
        for _ in range(order["beats"]):
            time.sleep(0.1)
            say({"type": "heartbeat", "id": id})
        say({"type": "result", "id": id, "output": "beaten"})
    elif what == "wait":  # for the cancel
        note(id)
        reason = cancels[id].get()
        note(id, "told: " + reason)
        say({"type": "error", "id": id, "message": "cancelled: " + reason})
    elif what == "finish":  # in spite of the cancel
        note(id)
        say({"type": "result", "id": id, "output": cancels[id].get()})
    elif what == "deaf":
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        note(id)
        time.sleep(300)
    elif what == "gate":  # until that file is there
        note(id)
        while not os.path.exists(order["file"]):
            time.sleep(0.01)
        say({"type": "result", "id": id, "output": os.getpid()})


def note(id, text="here"):
    say({"type": "log", "id": id, "message": text})


class Reason:
    def __init__(self):
        self.event, self.text = threading.Event(), ""

    def set(self, text):
        self.text = text
        self.event.set()

    def get(self):
        self.event.wait()
        return self.text


if start == "fail":
    print("no such table", file=sys.stderr)
    sys.exit(3)
if start == "config":
    print("no token", file=sys.stderr)
    sys.exit(78)
if start == "chatter":
    say("hello, world")
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        if start == "protocol 2":
            say({"type": "ready", "protocol": 2})
        elif start != "mute":
            say({"type": "greeting", "to": "nobody"})  # unknown types are ignored
            say({"type": "ready", "protocol": 1, "concurrency": concurrency, "more": 1})
    elif message["type"] == "task":
        cancels[message["id"]] = Reason()
        threading.Thread(target=act, args=(message,), daemon=True).start()
    elif message["type"] == "cancel":
        cancels[message["id"]].set(message["reason"])
