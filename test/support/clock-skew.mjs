/** Loaded before a service: its wall clock is CLOCK_SKEW_S seconds off, as those of machines are; time passes as ever. */
const skewMs = Number(process.env.CLOCK_SKEW_S ?? 0) * 1000;
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + skewMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + skewMs;
  }
};
