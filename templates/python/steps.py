"""The handlers of helloV1. A worker starts this file once and hands it task after task."""

from pgflow_step import serve


def greet(task):
    return {"text": "Hello " + task.input["name"]}


def shout(task):
    return task.input["greet"]["text"] + "!"


if __name__ == "__main__":
    handlers = {"greet": greet, "shout": shout}
    serve(lambda task: handlers[task.step_slug](task), concurrency=4)
