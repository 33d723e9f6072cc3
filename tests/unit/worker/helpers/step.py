"""A handler that does what its input says, through the helper module."""

import os
import sys

sys.path.insert(0, os.environ["HELPERS"] + "/python")
from pgflow_step import PermanentFailure, serve  # noqa: E402


def handle(task):
    order = task.input
    what = order["act"]
    if what == "echo":
        print("noise")
        os.system("echo noise of a child")
        return {"text": order["text"], "run": task.run_id, "msg": task.msg_id, "flow": task.flow_input}
    if what == "fail":
        raise ValueError("busy")
    if what == "give up":
        raise PermanentFailure("never")
    if what == "nothing":
        return None
    if what == "bad":
        return float("nan")
    if what == "log":
        task.log("warn", "hello", a=1)
        return None
    if what == "wait":
        task.log("info", "here")
        while not task.wait(0.1):
            task.heartbeat()
        if order.get("finish"):
            return task.cancel_reason
        task.raise_if_cancelled()


serve(handle, concurrency=2)
