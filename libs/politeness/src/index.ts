export {
  CLAIM_RULES,
  applyGrant,
  createClaim,
  demandFor,
  dropIdleTokens,
  isUnfinished,
  returnToken,
  setWant,
  takeToken,
  takeableTokens,
  type Claim,
  type ClaimRules,
  type HeldToken,
} from './claim.js';
export { QUANTUM_MS } from './fair-share.js';
export type { Account, Claimant, Pool, PoolToken } from './pool-state.js';
export {
  applyFeedback,
  applyRobotsDelay,
  configureHost,
  createHostPolicy,
  hostLimits,
  hostPlateau,
  hostRecord,
  hostVerdict,
  laneSize,
  nextChangeMs,
  releaseHost,
  resumeHost,
  settleHost,
  takeProbe,
  type HostConfig,
  type HostLimits,
  type HostPolicy,
  type Moment,
} from './host-policy.js';
export {
  POOL_RULES,
  applyDemand,
  createPool,
  expireClaimants,
  grantFor,
  isKnownAndNotHeld,
  isPoolIdle,
  rebalance,
  resizePool,
  type PoolContext,
  type PoolRules,
} from './pool.js';
export { RobotsFile, parseRobots, robotsForStatus } from './robots.js';
export { advanceClock, createWakingClock, type WakingClock } from './waking-clock.js';
export { compareSlotPairs, decideSlotClaim, type SlotDecision, type SlotPair, type SlotValue } from './slot-claim.js';
export { spread } from './spread.js';
