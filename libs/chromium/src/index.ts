export * from './chromium.js';
export { browserEnvironment } from './environment.js';
export { findSandbox, type Sandbox, type SandboxMode } from './sandbox.js';
