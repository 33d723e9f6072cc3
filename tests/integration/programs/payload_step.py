"""A command that returns its input byte for byte, or what an input {"act": …} asks for; persistent when told so."""

import json
import sys

persistent = sys.argv[1:] == ["persistent"]
answers = {
    "nul": rb'{"x":"a\u0000b"}',
    "nul key": rb'{"a\u0000b":1}',
    "surrogate": rb'"\ud800"',
    "bytes": b'"\xff"',
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "number": b"123456789012345678901234567890.5",
    "half": b'{"x":',
}
out = sys.stdout.buffer


def act_of(value):
    return json.loads(value)["act"] if value.startswith(b'{"act"') else None


if not persistent:
    given = sys.stdin.buffer.read()
    if act_of(given) == "shout":
        sys.stderr.buffer.write(bytes(range(256)) * 20_000)
        sys.exit(1)
    out.write(answers.get(act_of(given), given))
    sys.exit(0)

for line in sys.stdin.buffer:
    if line.startswith(b'{"type":"hello"'):
        out.write(b'{"type":"ready","protocol":1}\n')
    elif line.startswith(b'{"type":"task"'):
        start = line.index(b'"input":')
        id = json.loads(line[:start] + b'"input":null}')["id"].encode()
        given = line[start + len(b'"input":'):].rstrip()[:-1]
        if act_of(given) == "shout":
            sys.stderr.buffer.write(bytes(range(256)) * 20_000)
            out.write(rb'{"type":"error","id":"%s","message":"a\u0000b"}' % id + b"\n")
        else:
            out.write(b'{"type":"result","id":"%s","output":%s}\n' % (id, answers.get(act_of(given), given)))
    out.flush()
