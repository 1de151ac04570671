export * from './chromium.js';
export { browserEnvironment } from './environment.js';
export { findSandbox, type Sandbox, type SandboxWish } from './sandbox.js';
