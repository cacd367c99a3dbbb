// The CPU task of the benchmark as piscina's threads run it, standing back behind the event loop as pg-parallel's do.
import { getPriority, setPriority } from "node:os";
import { workerData } from "node:worker_threads";

// On Linux, process 0 means the calling thread. piscina wraps what it was given.
const nice = [workerData]
  .flat()
  .find((data) => typeof data?.nice === "number")?.nice;
if (nice === undefined) throw new Error("piscina did not hand on workerData");
if (process.platform === "linux" && nice > 0)
  setPriority(0, Math.min(19, getPriority(0) + nice));

export default (duration) => {
  const end = performance.now() + duration;
  let x = 0;
  while (performance.now() < end) x += Math.sqrt(x + 1);
  return x;
};
