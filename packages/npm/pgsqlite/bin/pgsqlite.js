#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { findProgram } from '../program.js';

let program;
try {
  program = findProgram();
} catch (error) {
  console.error(`pgsqlite: ${error.message}`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
  // (a terminal sends Ctrl-C to both)
  process.on(signal, () => signal === 'SIGINT' && process.stdin.isTTY || child.kill(signal));
}
child.on('error', (error) => {
  console.error(`pgsqlite: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
