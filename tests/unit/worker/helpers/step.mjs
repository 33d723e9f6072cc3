// A handler that does what its input says, through the helper module.
const { PermanentFailure, serve } = await import(`${process.env.HELPERS}/node/pgflow-step.mjs`);

serve(
  async (task) => {
    const order = task.input;
    switch (order.act) {
      case "echo":
        console.log("noise");
        return { text: order.text, run: task.runId, msg: task.msgId, flow: task.flowInput };
      case "fail":
        throw new Error("busy");
      case "give up":
        throw new PermanentFailure("never");
      case "nothing":
        return undefined;
      case "log":
        task.log("warn", "hello", { a: 1 });
        return null;
      case "wait": {
        task.log("info", "here");
        const beat = setInterval(() => task.heartbeat(), 100);
        await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
        clearInterval(beat);
        if (order.finish) return task.signal.reason;
        throw new Error(`cancelled: ${task.signal.reason}`);
      }
    }
  },
  { concurrency: 2 },
);
