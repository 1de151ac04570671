/**
 * Loaded before a service: its wall clock is CLOCK_SKEW_S seconds off, as those of machines are; time passes as ever. Where
 * CLOCK_SKEW_FILE names a file, the clock is stepped to as many seconds off as stand in it, whenever they change.
 */
import { readFileSync } from 'node:fs';

const LOOK_MS = 50;
const file = process.env.CLOCK_SKEW_FILE;
const RealDate = Date;
let skewMs = Number(process.env.CLOCK_SKEW_S ?? 0) * 1000;

function look() {
  const seconds = Number(readFileSync(file, 'utf8'));
  if (Number.isFinite(seconds)) skewMs = seconds * 1000;
}

if (file !== undefined) {
  look();
  setInterval(look, LOOK_MS).unref();
}

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + skewMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + skewMs;
  }
};
